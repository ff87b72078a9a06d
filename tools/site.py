#!/usr/bin/env python3
"""Make the documentation as plain HTML pages with a search, and llms.txt.

The pages are README.md, the Markdown in docs/, and the manual pages that tools/manual.py makes from
the public headers.  cmark-gfm and mandoc render them.  The pages work from a folder, without a
server; nothing is loaded from elsewhere.  A link that leads nowhere is an error.

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
    "Begin": ["README.md", "docs/start.md", "docs/INSTALL.md", "docs/choosing.md", "docs/migrating.md",
              "docs/FEATURES.md"],
    "Use": ["docs/lifecycle.md", "docs/guarantees.md", "docs/errors.md", "docs/events.md", "docs/CONFIGURATION.md", "CHANGELOG.md"],
    "Operate": ["docs/deployment.md", "docs/operations.md", "docs/serve.md", "docs/METRICS.md", "docs/compatibility.md", "SECURITY.md"],
    "Internals": ["docs/coordination.md", "docs/architecture.md", "docs/BENCHMARKS.md", "docs/TRACK-RECORD.md",
               "docs/release.md", "CONTRIBUTING.md", "lua/README.md"],
}
STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif; display: flex; }
nav { flex: 0 0 15em; padding: 1em; border-right: 1px solid var(--line); height: 100vh; overflow: auto;
      position: sticky; top: 0; box-sizing: border-box; font-size: 14px; }
nav h2 { font-size: 1em; margin: 1em 0 .2em; } nav ul { list-style: none; margin: 0; padding: 0; }
nav input { width: 100%; box-sizing: border-box; padding: .3em; }
main { padding: 1em 2em 4em; max-width: 52em; min-width: 0; }
pre { background: var(--soft); padding: .8em; overflow: auto; } code { font-size: .9em; }
table { border-collapse: collapse; display: block; overflow: auto; }
th, td { border: 1px solid var(--line); padding: .3em .6em; text-align: left; vertical-align: top; }
img { max-width: 100%; }
table.head, table.foot { display: none; } a.permalink { color: inherit; text-decoration: none; }
#found li { margin: .4em 0; } .Bl-tag > dd { margin-left: 2em; }
@media (max-width: 50em) { body { display: block; } nav { height: auto; position: static; border: 0; } }
"""
SCRIPT = """
const box = document.getElementById('search'), list = document.getElementById('found');
box.addEventListener('input', () => {
    const words = box.value.toLowerCase().split(/\\s+/).filter(word => word.length > 1);
    const weigh = part => words.reduce((sum, word) => sum < 0 ? sum :
        part.heading.toLowerCase().includes(word) ? sum + 5 :
        part.text.toLowerCase().includes(word) ? sum + 1 : -1, 0);
    const best = !words.length ? [] : PARTS.map(part => [weigh(part), part])
        .filter(([weight]) => weight > 0).sort(([a], [b]) => b - a).slice(0, 20);
    list.replaceChildren(...best.map(([, part]) => {
        const item = document.createElement('li'), link = document.createElement('a');
        link.href = UP + part.link;
        link.textContent = part.page === part.heading ? part.page : part.page + ': ' + part.heading;
        item.append(link);
        return item;
    }));
});
"""


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
        found = re.search(r"<h1[^>]*>(.*?)</h1>", self.body, re.DOTALL)
        self.title = plain(found[1]) if found else pathlib.PurePath(target).stem

    def heading(self, match):
        name, base, number = slug(match[2]), slug(match[2]), 0
        while name in self.anchors:
            number += 1
            name = f"{base}-{number}"
        self.anchors.add(name)
        return f'<h{match[1]} id="{name}">{match[2]}</h{match[1]}>'

    def parts(self):
        """What the search finds: each heading with the text below it."""
        pieces = re.split(r'(<h[1-3][^>]*id="[^"]*"[^>]*>.*?</h[1-3]>)', self.body, flags=re.DOTALL)
        heading, anchor = self.title, ""
        for piece in pieces:
            found = re.fullmatch(r'<h[1-3][^>]*id="([^"]*)"[^>]*>(.*?)</h[1-3]>', piece, re.DOTALL)
            if found:
                heading, anchor = plain(found[2]), "#" + found[1]
            elif plain(piece):
                yield {"page": self.title, "heading": heading, "link": self.target + anchor, "text": plain(piece)}

    def first_sentence(self):
        paragraph = re.search(r"<p[^>]*>(.*?)</p>", self.body, re.DOTALL)
        return re.split(r"(?<=[.:]) ", plain(paragraph[1]))[0] if paragraph else ""


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


def navigation(shown, up):
    lines = ['<nav><input id="search" type="search" placeholder="Search"><ul id="found"></ul>']
    for group, pages in shown.items():
        lines.append(f"<h2>{group}</h2><ul>")
        lines += [f'<li><a href="{up}{page.target}">{html.escape(page.title)}</a></li>' for page in pages]
        lines.append("</ul>")
    return "\n".join([*lines, "</nav>"])


def write_page(folder, page, shown):
    up = "../" * page.target.count("/")
    path = folder / page.target
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{html.escape(page.title)}</title><link rel="stylesheet" href="{up}style.css"></head>
<body>{navigation(shown, up)}
<main>{page.body}</main>
<script>const UP = '{up}';</script><script src="{up}parts.js"></script><script src="{up}search.js"></script>
</body></html>
""")


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
    parts = [part for page in pages for part in page.parts()]
    (folder / "parts.js").write_text(f"const PARTS = {json.dumps(parts, ensure_ascii=False)};\n")
    (folder / "search.js").write_text(SCRIPT)
    (folder / "style.css").write_text(STYLE)
    write_texts(root, folder, shown)
    print(f"{len(pages)} pages: {folder}/index.html")


if __name__ == "__main__":
    main()
