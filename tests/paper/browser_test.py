#!/usr/bin/env python3
"""Opens the pages of ./run paper in a browser without a window: pictures load, tables are whole, links lead somewhere, and
nothing is wider than the window.

usage: tests/paper/browser_test.py [FOLDER]     (default: build/paper); screenshots go to FOLDER/screenshots
"""

import sys
import unittest
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

ROOT = Path(__file__).resolve().parents[2]
WIDTHS = {"wide": 1280, "narrow": 420}

LOOK = """
const tables = [...document.querySelectorAll('table')].map(table => {
  const rows = [...table.rows];
  return {rows: rows.length, uneven: rows.filter(row => row.cells.length != rows[0].cells.length).length,
          height: table.getBoundingClientRect().height};
});
return {
  images: [...document.images].map(image => ({src: image.getAttribute('src'), width: image.naturalWidth,
                                              shown: image.getBoundingClientRect().height})),
  tables: tables,
  links: [...document.links].map(link => link.getAttribute('href')),
  failures: [...document.querySelectorAll('.failed')].map(element => element.textContent),
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
};
"""


class Pages(unittest.TestCase):
    folder = ROOT / "build/paper"

    @classmethod
    def setUpClass(cls):
        options = webdriver.ChromeOptions()
        for option in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
            options.add_argument(option)
        cls.browser = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        (cls.folder / "screenshots").mkdir(exist_ok=True)

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()

    def look(self, page, width):
        self.browser.set_window_size(WIDTHS[width], 1000)
        self.browser.get(page.as_uri())
        self.browser.save_screenshot(str(self.folder / "screenshots" / f"{page.stem}_{width}.png"))
        return self.browser.execute_script(LOOK)

    def test_each_page(self):
        pages = sorted(self.folder.glob("*.html"))
        self.assertIn(self.folder / "index.html", pages)
        pictures = tables = 0
        for page in pages:
            for width in WIDTHS:
                with self.subTest(page=page.name, width=width):
                    seen = self.look(page, width)
                    self.assertTrue(seen["tables"])
                    for table in seen["tables"]:
                        self.assertGreaterEqual(table["rows"], 2)
                        self.assertEqual(table["uneven"], 0)
                        self.assertGreater(table["height"], 20)
                    for image in seen["images"]:
                        self.assertGreater(image["width"], 0, image["src"])
                        self.assertGreater(image["shown"], 50, image["src"])
                    for link in seen["links"]:
                        self.assertTrue((self.folder / link).exists(), link)
                    self.assertLessEqual(seen["overflow"], 0)
                    self.assertEqual([text for text in seen["failures"] if "--quick" not in text], [])
                    pictures += len(seen["images"])
                    tables += len(seen["tables"])
        print(f"{len(pages)} pages, {tables // len(WIDTHS)} tables, {pictures // len(WIDTHS)} pictures, at {len(WIDTHS)} widths")
        self.assertGreater(pictures, 0)


if __name__ == "__main__":
    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        Pages.folder = Path(sys.argv.pop(1)).resolve()
    unittest.main()
