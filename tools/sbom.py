#!/usr/bin/env python3
"""Write the bill of materials of a tarball, as SPDX 2.3 in JSON: what it is, and what the library
and the command are linked with.

usage: sbom.py OUT TARBALL VERSION CREATED   CREATED as 2026-01-31T00:00:00Z
"""
import hashlib
import json
import pathlib
import sys

# name: (license, package URL, the shared library by which it is needed; None: headers only, who)
MATERIALS = {
    "hiredis": ("BSD-3-Clause", "pkg:github/redis/hiredis", "libhiredis.so", "library"),
    "libuv": ("MIT", "pkg:github/libuv/libuv", "libuv.so", "library"),
    "openssl": ("Apache-2.0", "pkg:github/openssl/openssl", "libssl.so", "library"),
    "zlib": ("Zlib", "pkg:github/madler/zlib", "libz.so", "library"),
    "zookeeper-client-c": ("Apache-2.0", "pkg:github/apache/zookeeper", "libzookeeper_mt.so", "library"),
    "uthash": ("BSD-1-Clause", "pkg:github/troydhanson/uthash", None, "library"),
    "jansson": ("MIT", "pkg:github/akheron/jansson", "libjansson.so", "command"),
    "libmicrohttpd": ("LGPL-2.1-or-later", "pkg:github/Karlson2k/libmicrohttpd", "libmicrohttpd.so", "command"),
    "libsmartcols": ("LGPL-2.1-or-later", "pkg:github/util-linux/util-linux", "libsmartcols.so", "command"),
}


def package(name, license_, url):
    return {"SPDXID": f"SPDXRef-{name}", "name": name, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": license_, "copyrightText": "NOASSERTION",
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                              "referenceLocator": url}]}


def bill(tarball, version, created):
    digest = hashlib.sha256(tarball.read_bytes()).hexdigest()
    slotmq = {"SPDXID": "SPDXRef-slotmq", "name": "slotmq", "versionInfo": version, "packageFileName": tarball.name,
              "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "primaryPackagePurpose": "SOURCE",
              "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
              "licenseConcluded": "BSD-2-Clause", "licenseDeclared": "BSD-2-Clause",
              "copyrightText": "Copyright (c) the slotmq authors"}
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-slotmq", None)]
    for name, (_, _, library, user) in MATERIALS.items():
        kind = "DEPENDS_ON" if library else "BUILD_DEPENDENCY_OF"
        ends = ("SPDXRef-slotmq", f"SPDXRef-{name}")
        relations.append((ends[0], kind, ends[1], f"the {user}") if library else (ends[1], kind, ends[0], f"the {user}"))
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"slotmq-{version}", "documentNamespace": f"https://spdx.org/spdxdocs/slotmq-{version}-{digest}",
            "creationInfo": {"created": created, "creators": ["Organization: the slotmq authors", "Tool: tools/sbom.py"]},
            "packages": [slotmq] + [package(name, license_, url) for name, (license_, url, _, _) in MATERIALS.items()],
            "relationships": [{"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other,
                               **({"comment": text} if text else {})} for one, kind, other, text in relations]}


def main():
    out, tarball, version, created = sys.argv[1:]
    text = json.dumps(bill(pathlib.Path(tarball), version, created), indent=2)
    pathlib.Path(out).write_text(text + "\n")


if __name__ == "__main__":
    main()
