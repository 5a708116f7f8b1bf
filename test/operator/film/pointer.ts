import { type Locator, type Page } from 'playwright-core';

/** For the page: screenshots do not show the pointer, so a dot follows it. */
export const SHOW_POINTER = `
  const dot = document.createElement('div');
  Object.assign(dot.style, {
    position: 'fixed', width: '18px', height: '18px', margin: '-9px', borderRadius: '50%',
    background: 'rgb(225 85 20 / 55%)', border: '2px solid white', zIndex: '9999', pointerEvents: 'none',
    left: '85%', top: '94%',
  });
  document.body.append(dot);
  document.addEventListener('mousemove', ({ clientX, clientY }) => {
    Object.assign(dot.style, { left: clientX + 'px', top: clientY + 'px' });
  });
`;

/** Slowly, so that the eye can follow; and beside the text, which the dot would cover. */
export async function click(page: Page, target: Locator): Promise<void> {
  await target.scrollIntoViewIfNeeded();
  const box = await target.boundingBox();
  if (!box) throw new Error('what is to be clicked cannot be seen');
  const position = { x: box.width * 0.7, y: box.height / 2 };
  await page.mouse.move(box.x + position.x, box.y + position.y, { steps: 12 });
  await page.waitForTimeout(600);
  await target.click({ position });
}
