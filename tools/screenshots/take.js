// Takes the pictures of pages that the manual shows. Usage: node take.js OUT_FOLDER PAGES_FOLDER PERFETTO_ADDRESS TRACE_ADDRESS
// (screenshots.py calls it). Needs playwright-core and a Chromium, named by CHROMIUM.
const {chromium} = require('playwright-core');

const [, , out, pages, perfetto, trace] = process.argv;

async function trace_picture(browser) {
  const page = await browser.newPage({viewport: {width: 1200, height: 470}});
  await page.goto(`${perfetto}/#!/?hideSidebar=true&url=${trace}`);
  for (const group of ['calls of', 'cpu:0']) {
    await page.locator('.pf-track__title, .pf-track__name, h1').filter({hasText: group}).first().click({timeout: 60000});
    await page.waitForTimeout(1000);
  }
  await page.keyboard.press('f');  // all of it
  await page.waitForTimeout(2000);
  await page.screenshot({path: `${out}/trace.png`});
}

// From the first heading with these words on, or from the top.
async function page_picture(browser, name, height, words) {
  const page = await browser.newPage({viewport: {width: 1100, height}});
  await page.goto(`file://${pages}/${name}.html`);
  if (words) await page.locator('h2, h3').filter({hasText: words}).first().evaluate((heading) => heading.scrollIntoView());
  await page.waitForTimeout(1000);
  await page.screenshot({path: `${out}/${name}.png`});
}

async function main() {
  const browser = await chromium.launch({executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox']});
  await trace_picture(browser);
  await page_picture(browser, 'memory', 880);
  await page_picture(browser, 'bench', 900, 'copy within the device');
  await page_picture(browser, 'conformance', 760);
  await browser.close();
}

main().catch((error) => {
  console.error(String(error));
  process.exit(1);
});
