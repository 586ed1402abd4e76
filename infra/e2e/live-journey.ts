// Visits the dashboard during a run, in a real Chromium: what the run does must appear without a reload.
import { chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { chromiumPath } from '../testing/journeys.ts';

/** Steps that the overview says the run has made. */
async function stepsOf(page: Page): Promise<number> {
  const text = await page.locator('tbody a[href*="/steps/"]').first().innerText();
  return Number(text.replace(/\D/g, ''));
}

/** Errors of the pages; throws when something does not appear. */
export async function visitLiveRun(url: string, run: string): Promise<readonly string[]> {
  const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    const page = await browser.newPage({ viewport: { width: 1_280, height: 800 } });
    page.setDefaultTimeout(60_000);
    const wrongs: string[] = [];
    page.on('pageerror', (error) => wrongs.push(error.message));
    page.on('request', (request) => {
      if (!request.url().startsWith(url) && !request.url().startsWith('data:')) wrongs.push(request.url());
    });
    await page.goto(`${url}/`);
    await page.locator('tbody a', { hasText: run }).first().click();
    await page.locator('.chart canvas').first().waitFor();
    const before = await stepsOf(page);
    // the next step comes without a reload
    await expect.poll(() => stepsOf(page)).toBeGreaterThan(before);
    await page.goto(`${url}/live?run=${run}`);
    await page.locator('.tail-row a[href*="/t/"]').first().click();
    await page.locator('.fate').waitFor();
    await page.goto(`${url}/runs/${run}/ledger`);
    await page.locator('[aria-label="Verify state"]', { hasText: /All checks of the tables passed|tables are behind/ }).waitFor();
    return wrongs;
  } finally {
    await browser.close();
  }
}
