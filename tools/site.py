#!/usr/bin/env python3
"""Make the documentation as plain HTML pages with a search, and llms.txt.

The pages are README.md, the Markdown in docs/, and the manual pages that tools/manual.py makes from
the public headers.  cmark-gfm and mandoc render them.  The pages work from a folder, without a
server; nothing is loaded from elsewhere.  A link that leads nowhere is an error.

Each part of a page that is found by its name has an entry of its own in the search: functions and
structs, flags of the command, and the rows of tables that begin with a name.

usage: site.py ROOT FOLDER"""
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

SUMMARY = ("Message queues on Redis Cluster for fleets of consumers: a C library and a command. Messages of one "
           "key are never handled at the same time, and nothing acknowledged is lost.")
# Each page belongs to one group.
GROUPS = {
    "Begin": ["README.md", "docs/start.md", "docs/INSTALL.md", "docs/faq.md", "docs/choosing.md",
              "docs/sizing.md", "docs/compare.md", "docs/migrating.md", "docs/FEATURES.md"],
    "Use": ["docs/cookbook.md", "docs/lifecycle.md", "docs/guarantees.md", "docs/headers.md", "docs/schedules.md", "docs/tracing.md", "docs/errors.md", "docs/events.md", "docs/event-loops.md", "docs/cpp.md", "docs/python.md", "docs/celery.md", "docs/node.md", "docs/CONFIGURATION.md", "CHANGELOG.md"],
    "Operate": ["docs/deployment.md", "docs/upgrading.md", "docs/operations.md", "docs/serve.md", "docs/METRICS.md", "docs/compatibility.md", "SECURITY.md"],
    "Internals": ["docs/coordination.md", "docs/architecture.md", "docs/first-change.md", "docs/BENCHMARKS.md", "docs/TRACK-RECORD.md",
               "docs/release.md", "CONTRIBUTING.md", "lua/README.md"],
}
# How much a part of a group counts in the search: what users look for comes before why it is so.
WEIGHTS = {"Internals": 0.6, "Decisions": 0.2}
PAGE_WEIGHTS = {"CHANGELOG.md": 0.2, "docs/BENCHMARKS.md": 0.4, "docs/FEATURES.md": 0.4, "docs/TRACK-RECORD.md": 0.4}
# Sections of a manual page that only repeat names.
REPEATED = {"NAME", "SYNOPSIS", "SEE ALSO"}
ASSETS = ["style.css", "page.js"]


def run(*command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def slug(heading):
    """The anchor of a heading, as code hosts make it."""
    plain = html.unescape(re.sub(r"<[^>]+>", "", heading)).lower()
    return re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-")


def plain(fragment):
    inline = re.sub(r"</?(?:a|b|code|em|i|strong|var)\b[^>]*>", "", fragment)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", inline)).split())


class Page:
    """`source` is relative to the root, `target` to the folder."""

    def __init__(self, source, target, body):
        self.source, self.target = source, target
        self.pictures = []
        self.anchors = set(re.findall(r'id="([^"]+)"', body))
        self.body = re.sub(r"<h([1-6])>(.*?)</h\1>", self.heading, body)
        self.body = re.sub(r"<tr>(\s*<td[^>]*>)<code>(\w+)</code>(?=</td>)", self.row, self.body)
        self.body = re.sub(r"<dt>(<var class=\"Vt\">(?:struct|enum) )(\w+)(?=</var>)", self.type, self.body)
        found = re.search(r"<h1[^>]*>(.*?)</h1>", self.body, re.DOTALL)
        self.title = plain(found[1]) if found else pathlib.PurePath(target).stem

    def anchor(self, base):
        name, number = base, 0
        while name in self.anchors:
            number += 1
            name = f"{base}-{number}"
        self.anchors.add(name)
        return name

    def heading(self, match):
        return f'<h{match[1]} id="{self.anchor(slug(match[2]))}">{match[2]}</h{match[1]}>'

    def row(self, match):
        return f'<tr id="{self.anchor(slug(match[2]))}">{match[1]}<code>{match[2]}</code>'

    def type(self, match):
        return f'<dt id="{self.anchor(match[2])}">{match[1]}{match[2]}'

    def sections(self):
        """(level, anchor, heading, text) of each heading, with all that is below it."""
        pieces = re.split(r'(<h[1-3][^>]*id="[^"]*"[^>]*>.*?</h[1-3]>)', self.body, flags=re.DOTALL)
        level, anchor, heading = 1, "", self.title
        for piece in pieces:
            found = re.fullmatch(r'<h([1-3])[^>]*id="([^"]*)"[^>]*>(.*?)</h[1-3]>', piece, re.DOTALL)
            if found:
                level, anchor, heading = int(found[1]), found[2], plain(found[3])
            else:
                yield level, anchor, heading, piece

    def parts(self):
        """What the search finds."""
        for _, anchor, heading, text in self.sections():
            where = f"{self.target}#{anchor}" if anchor else self.target
            if plain(text) and not (self.source.endswith(".h") and heading in REPEATED):
                yield {"page": self.title, "heading": heading, "link": where, "text": plain(text)}
            for name, shown, inner, words in entries(heading, text):
                above = self.title if self.title == heading else f"{self.title}: {heading}"
                yield {"page": above, "heading": shown, "name": name, "link": f"{self.target}#{inner}", "text": words}

    def contents(self):
        """(is it below another, anchor, heading) of each line of the table of contents."""
        for level, anchor, heading, text in self.sections():
            if level > 1:
                yield level > 2, anchor, heading
            if self.source.endswith(".h"):
                yield from ((True, inner, name) for name, _, inner, _ in entries(heading, text))

    def first_sentence(self):
        paragraph = re.search(r"<p[^>]*>(.*?)</p>", self.body, re.DOTALL)
        return re.split(r"(?<=[.:]) ", plain(paragraph[1]))[0] if paragraph else ""


def entries(heading, text):
    """(name, heading, anchor, text) of what stands below a heading and is found by its name."""
    for found in re.finditer(r'<tr id="([^"]+)">(.*?)</tr>', text, re.DOTALL):
        name = plain(found[2].partition("</td>")[0])
        yield name, name, found[1], plain(found[2])
    pieces = re.split(r'<dt id="(smq_\w+)">(?=(?:(?!</dt>).)*<(?:code|var) class="(?:Fn|Vt)")', text, flags=re.DOTALL)
    for name, body in zip(pieces[1::2], pieces[2::2]):
        yield name, name, name, plain(body)
    flags = re.split(r'<dt id="([^"]+)"><a class="permalink" href="[^"]*"><code class="Fl">(-[^<]*)</code></a>', text)
    for anchor, flag, body in zip(flags[1::3], flags[2::3], flags[3::3]):
        yield flag, f"{heading} {flag}", anchor, plain(body)


def groups(root):
    wanted = {name: list(members) for name, members in GROUPS.items()}
    known = {member for members in wanted.values() for member in members}
    forgotten = {str(path.relative_to(root)) for path in (root / "docs").glob("*.md")} - known
    if forgotten:
        sys.exit(f"tools/site.py: no group for {', '.join(sorted(forgotten))}")
    wanted["Decisions"] = sorted(str(path.relative_to(root)) for path in (root / "docs/decisions").glob("*.md"))
    return wanted


def target_of(source):
    if source == "README.md":
        return "index.html"
    if source == "lua/README.md":
        return "scripts.html"
    folder = "decisions/" if "/decisions/" in source else ""
    return folder + pathlib.PurePath(source).stem.lower() + ".html"


def markdown(root, source):
    text = (root / source).read_text()
    return Page(source, target_of(source), run("cmark-gfm", "-e", "table", text=text))


def manual(root, source):
    """The page of a header, or of the command."""
    if source.endswith(".h"):
        text = run(sys.executable, str(root / "tools/manual.py"), "page", str(root / source), str(root / "docs/slotmq.1"))
        name = pathlib.PurePath(source).stem
        title = "slotmq(3)" if name == "slotmq" else f"slotmq_{name}(3)"
    else:
        text, title = (root / source).read_text(), "slotmq(1)"
        name = "command"
    body = run("mandoc", "-T", "html", "-O", "fragment", text=text)
    body = re.sub(r"(</?)h([12])\b", lambda match: f"{match[1]}h{int(match[2]) + 1}", body)
    body = f"<h1>{title}</h1>\n{body}"
    return Page(source, f"reference/{name}.html", body)


def follow(page, pages, root, dead):
    """Let the links of a page lead to pages; what is not in the documentation becomes plain text."""
    by_source = {other.source: other for other in pages}

    def link(match):
        address, text = html.unescape(match[1]), match[2]
        if re.match(r"https?:|mailto:", address):
            return match[0]
        path, _, anchor = address.partition("#")
        source = page.source
        if path:
            where = (root / page.source).parent / path
            source = os.path.relpath(where, root)
            if not where.exists():
                dead.append(f"{page.source}: {address}")
        other = by_source.get(source)
        if other is None:
            return text
        if anchor and anchor not in other.anchors:
            dead.append(f"{page.source}: {address}")
        up = "../" * page.target.count("/")
        return f'<a href="{up}{other.target}{"#" + anchor if anchor else ""}">{text}</a>'

    def picture(match):
        where = (root / page.source).parent / html.unescape(match[1])
        if not where.exists():
            dead.append(f"{page.source}: {match[1]}")
        page.pictures.append(where)
        return f'<img src="{"../" * page.target.count("/")}pictures/{where.name}"'

    page.body = re.sub(r'<a href="([^"]*)">(.*?)</a>', link, page.body, flags=re.DOTALL)
    page.body = re.sub(r'<img src="([^"]*)"', picture, page.body)


def navigation(shown, here, up):
    lines = [f'<nav><a class="name" href="{up}index.html">slotmq</a>',
             '<input id="search" type="search" placeholder="Search  (/)" aria-label="Search"><ul id="found"></ul>',
             '<input class="fold" id="pages" type="checkbox"><label for="pages">Pages</label><div class="groups">']
    for group, pages in shown.items():
        is_open = " open" if group not in WEIGHTS or here in pages else ""
        lines.append(f"<details{is_open}><summary>{group}</summary><ul>")
        for page in pages:
            current = ' aria-current="page"' if page is here else ""
            lines.append(f'<li><a href="{up}{page.target}"{current}>{html.escape(page.title)}</a></li>')
        lines.append("</ul></details>")
    return "\n".join([*lines, "</div></nav>"])


def contents(page):
    """The table of contents; a page with one heading needs none."""
    found = list(page.contents())
    if len(found) < 2:
        return ""
    lines = ['<aside class="toc"><h2>On this page</h2><input class="fold" id="contents" type="checkbox">'
             '<label for="contents">On this page</label><ul>']
    for is_inner, anchor, heading in found:
        kind = ' class="inner"' if is_inner else ""
        lines.append(f'<li{kind}><a href="#{anchor}">{html.escape(heading)}</a></li>')
    return "\n".join([*lines, "</ul></aside>"])


def write_page(folder, page, shown):
    up = "../" * page.target.count("/")
    path = folder / page.target
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{html.escape(page.title)}</title><link rel="stylesheet" href="{up}style.css"></head>
<body>{navigation(shown, page, up)}
{contents(page)}
<main>{page.body}</main>
<script>const UP = '{up}';</script><script src="{up}parts.js"></script><script src="{up}page.js"></script>
</body></html>
""")


def searched(shown):
    """The parts of all pages, with what they count."""
    for group, pages in shown.items():
        for page in pages:
            weight = PAGE_WEIGHTS.get(page.source, WEIGHTS.get(group, 1))
            yield from ({**part, "weight": weight} for part in page.parts())


def write_texts(root, folder, shown):
    """llms.txt lists the pages; llms-full.txt has their Markdown."""
    lines = ["# slotmq", "", f"> {SUMMARY}"]
    for group, pages in shown.items():
        lines += ["", f"## {group}", ""]
        lines += [f"- [{page.title}]({page.target}): {page.first_sentence()}" for page in pages]
    (folder / "llms.txt").write_text("\n".join(lines) + "\n")
    texts = [(root / page.source).read_text() for pages in shown.values() for page in pages
             if page.source.endswith(".md")]
    (folder / "llms-full.txt").write_text("\n\n".join(texts))


def main():
    root, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    for program in ("cmark-gfm", "mandoc"):
        if not shutil.which(program):
            sys.exit(f"tools/site.py: {program} is missing")
    shown = {group: [markdown(root, source) for source in sources] for group, sources in groups(root).items()}
    inner = {group: shown.pop(group) for group in ("Internals", "Decisions")}
    headers = sorted(str(path.relative_to(root)) for path in (root / "include/slotmq").glob("*.h"))
    shown["Reference"] = [manual(root, source) for source in ["docs/slotmq.1", *headers]]
    shown.update(inner)
    pages, dead = [page for members in shown.values() for page in members], []
    for page in pages:
        follow(page, pages, root, dead)
    if dead:
        sys.exit("tools/site.py: these links lead nowhere:\n" + "\n".join(dead))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pictures").mkdir(exist_ok=True)
    for page in pages:
        write_page(folder, page, shown)
        for path in page.pictures:
            shutil.copy(path, folder / "pictures")
    (folder / "parts.js").write_text(f"const PARTS = {json.dumps(list(searched(shown)), ensure_ascii=False)};\n")
    for name in ASSETS:
        shutil.copy(pathlib.Path(__file__).parent / "site" / name, folder)
    write_texts(root, folder, shown)
    print(f"{len(pages)} pages: {folder}/index.html")


if __name__ == "__main__":
    main()
