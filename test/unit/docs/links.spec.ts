import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const ROOT = join(__dirname, '../../..');

/** Markdown without its code blocks, in which brackets mean something else. */
function readPage(page: string): string {
  return readFileSync(page, 'utf8').replace(/```[\s\S]*?```/g, '');
}

/** The anchors that GitHub makes of headings; a repeated one gets a number. */
function anchorsOf(page: string): ReadonlySet<string> {
  const text = readPage(page);
  const seen = new Map<string, number>();
  const ofHeadings = [...text.matchAll(/^#{1,6} (.*)$/gm)].map(([, heading = '']) => {
    const words = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .trim()
      .toLowerCase();
    const anchor = words.replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-');
    const times = seen.get(anchor) ?? 0;
    seen.set(anchor, times + 1);
    return times === 0 ? anchor : `${anchor}-${times}`;
  });
  const written = [...text.matchAll(/<a id="([^"]+)"/g)].map(([, id = '']) => id);
  return new Set([...ofHeadings, ...written]);
}

function brokenLinks(page: string): string[] {
  const links = [...readPage(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  return links.filter((link) => {
    if (/^(https?:|mailto:)/.test(link)) return false;
    const [file = '', anchor] = link.split('#');
    const target = file === '' ? page : resolve(dirname(page), file);
    if (!existsSync(target)) return true;
    return anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).has(anchor);
  });
}

describe('links of the documentation', () => {
  const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: ROOT, encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((page) => join(ROOT, page));

  it('are on every page', () => expect(pages.length).toBeGreaterThan(30));

  it.each(pages.map((page) => [page.slice(ROOT.length + 1), page]))('of %s lead somewhere', (_, page) => {
    expect(brokenLinks(page)).toEqual([]);
  });
});
