import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { launchChromium } from '../tests/kit/chromium.ts'
import { fillInstance, viewerSignIn } from '../tests/kit/filled-instance.ts'
import { getPage, ownerSignIn, startHosting } from '../tests/kit/hosting.ts'
import { partOf } from '../tests/kit/machine.ts'
import { cameraOf, everyShot } from './screenshots/camera.ts'
import { dialogScenes } from './screenshots/dialog-scenes.ts'
import { shootGrowing } from './screenshots/growing-instance.ts'
import { passkeyFrontScenes, passkeyScenes } from './screenshots/passkey-scenes.ts'
import { shootScan } from './screenshots/scanned-server.ts'
import { addressScenes, frontScenes, viewerScenes } from './screenshots/scenes.ts'

/**
 * npm run screenshots [folder] [name…]: takes screenshots of the built product with real data: every address, dialogs, the pages of a
 * viewer, and an instance with no, one and a thousand projects, in both themes, on a desktop and a phone screen. With names, only
 * the scenes that begin with one of them. `--shots desk-light,phone-dark` takes only these two of the four combinations.
 * npm run pictures [-- --minutes 8]: takes the pictures of the README and the documentation, into docs/pictures. Simulated visitors
 * request the project's pages for some minutes first, so that its charts show traffic.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { docs: { type: 'boolean', default: false }, minutes: { type: 'string', default: '8' }, shots: { type: 'string' } },
})
const isForDocs = values.docs
const [folder = isForDocs ? 'docs/pictures' : 'screenshots', ...names] = positionals
const documented = ['project', 'project-deployment', 'project-backups']
const isAsked = (name: string) =>
  isForDocs ? documented.includes(name) : names.length === 0 || names.some((one) => name.startsWith(one))

await using browser = await launchChromium(partOf('chromium'))
const wanted = isForDocs ? 'desk-light' : values.shots
const shots = everyShot.filter(({ screen, colorScheme }) => !wanted || wanted.split(',').includes(`${screen}-${colorScheme}`))
const shoot = cameraOf({ browser, folder, shots, isAsked, isForDocs })
await shootFilled()
if (!isForDocs) {
  await shootGrowing(shoot, isAsked)
  if (isAsked('scan') || isAsked('reached-servers')) await shootScan(shoot)
}

async function shootFilled(): Promise<void> {
  await using hosting = await startHosting()
  const filled = await fillInstance(hosting)
  if (isForDocs) await visitors(hosting.berth.edgeUrl, Number(values.minutes))
  const { url } = hosting.berth
  await shoot(url, null, frontScenes(filled))
  await shoot(url, ownerSignIn, addressScenes(filled))
  if (isForDocs) return
  await shoot(url, ownerSignIn, dialogScenes(filled))
  await shoot(url, viewerSignIn, viewerScenes(filled))
  // Browsers use passkeys at host names only.
  const named = url.replace('127.0.0.1', 'localhost')
  await shoot(named, null, passkeyFrontScenes)
  await shoot(named, ownerSignIn, passkeyScenes)
}

/** Simulated visitors: more of them every third minute, and sometimes at a missing address. */
async function visitors(edgeUrl: string, minutes: number): Promise<void> {
  const end = performance.now() + minutes * 60_000
  for (let visit = 0; performance.now() < end; visit++) {
    const minute = Math.floor((end - performance.now()) / 60_000)
    await getPage(edgeUrl, 'harbour-shop.localhost', visit % 40 === 39 ? '/missing' : '/')
    await pause([60, 220, 400][minute % 3])
  }
}
