#!/usr/bin/env python3
"""Check every link, anchor and picture of the pages in a folder: check_links.py FOLDER

Links to other hosts are listed by number and not followed: a check must not depend on the network. Pages must not load anything
from another host either, so that they can be read without one. Exit status 1 if something is wrong, each with its page.
`check_links.py --test` tests the checker itself.
"""

import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes that make a browser load something, by element.
LOADED = {"img": "src", "script": "src", "link": "href", "source": "src", "iframe": "src"}


class Page(HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loads = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        for name in ("id", "name"):
            if attributes.get(name):
                self.anchors.add(attributes[name])
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        loaded = attributes.get(LOADED.get(tag, ""))
        if loaded and attributes.get("rel") != "canonical":
            self.loads.append(loaded)


def check(folder):
    """What is wrong in the pages of a folder, one sentence each; the number of links to other hosts; the number of links within."""
    folder = Path(folder).resolve()
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    wrong, outside, inside = [], 0, 0
    if not pages:
        wrong.append(f"{folder}: there are no pages")
    for path, page in pages.items():
        for link in page.links + page.loads:
            parts = urlsplit(link)
            where = path.relative_to(folder)
            if parts.scheme in ("data", "javascript", "mailto"):
                continue
            if parts.scheme or parts.netloc:
                outside += 1
                if link in page.loads:
                    wrong.append(f"{where}: loads {link} from another host")
                continue
            inside += 1
            base = folder if parts.path.startswith("/") else path.parent
            target = (base / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            if folder not in target.parents or not target.is_file():
                wrong.append(f"{where}: {link} leads nowhere")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                wrong.append(f"{where}: {link} has no anchor of that name")
    return wrong, outside, inside


def test():
    """Every kind of mistake is found, and nothing else."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "a.svg").write_text("<svg/>")
        (folder / "good.html").write_text(
            '<h1 id="über">x</h1><a href="#%C3%BCber"></a><a href="good.html"></a><img src="a.svg"><a href="https://example.org"></a>'
        )
        assert check(folder) == ([], 1, 3), check(folder)
        for bad, reason in [
            ('<a href="missing.html"></a>', "leads nowhere"),
            ('<a href="good.html#nothing"></a>', "no anchor"),
            ('<a href="#nothing"></a>', "no anchor"),
            ('<img src="missing.svg">', "leads nowhere"),
            ('<a href="../../etc/passwd"></a>', "leads nowhere"),
            ('<script src="https://example.org/x.js"></script>', "from another host"),
        ]:
            (folder / "bad.html").write_text(bad)
            wrong, _, _ = check(folder)
            assert len(wrong) == 1 and wrong[0].startswith("bad.html: ") and reason in wrong[0], (bad, wrong)
    with tempfile.TemporaryDirectory() as name:
        assert "no pages" in check(name)[0][0]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    test()
    if sys.argv[1] == "--test":
        return
    wrong, outside, inside = check(sys.argv[1])
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    if wrong:
        sys.exit(f"{len(wrong)} links are wrong")
    print(f"{sys.argv[1]}: {inside} links lead somewhere; {outside} to other hosts were not followed")


if __name__ == "__main__":
    main()
