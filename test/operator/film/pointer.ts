import { type Locator, type Page } from 'playwright-core';

/** Runs in the page: screenshots do not show the pointer, so a dot follows it. */
export function showPointer(): void {
  const dot = document.createElement('div');
  Object.assign(dot.style, {
    ...{ position: 'fixed', width: '18px', height: '18px', margin: '-9px', borderRadius: '50%' },
    ...{ background: 'rgb(225 85 20 / 55%)', border: '2px solid white', zIndex: '9999', pointerEvents: 'none' },
    ...{ left: '70%', top: '75%' },
  });
  document.body.append(dot);
  document.addEventListener('mousemove', ({ clientX, clientY }) => {
    Object.assign(dot.style, { left: `${clientX}px`, top: `${clientY}px` });
  });
}

/** Slowly, so that the eye can follow. */
export async function moveTo(page: Page, target: Locator): Promise<void> {
  await target.scrollIntoViewIfNeeded();
  const box = await target.boundingBox();
  if (!box) throw new Error('what is to be clicked cannot be seen');
  await page.mouse.move(box.x + Math.min(box.width, 120) / 2, box.y + box.height / 2, { steps: 12 });
  await page.waitForTimeout(600);
}
