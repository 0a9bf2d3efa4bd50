import type Docker from 'dockerode'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { partOf } from '../kit/machine.ts'
import type { Sshd } from '../kit/sshd.ts'

/** Steps in the browser that adopt the workloads of a server; each step waits for the page's next text. */

const serve = "require('http').createServer((q,r)=>r.end(require('fs').readFileSync('/site/index'))).listen(8080)"

/** A container that was started by hand: it serves a file of a folder of the server. */
export const kiosk = (folder: string): Docker.ContainerCreateOptions => ({
  Cmd: ['node', '-e', `process.on('SIGTERM',()=>process.exit());${serve}`],
  ExposedPorts: { '8080/tcp': {} },
  HostConfig: { Binds: [`${folder}/site:/site:ro`] },
})

/** Adds and checks the server; the page shows the pinned host key. */
export async function addServerInBrowser(page: Page, sshd: Sshd): Promise<string> {
  await page.goto('/servers')
  await page.getByRole('button', { name: 'Add…' }).click()
  const fields = {
    Name: 'Quay 7',
    'Host or address': sshd.host,
    'SSH port': String(sshd.port),
    User: sshd.user,
    'Private key': sshd.privateKey,
    'Docker socket': partOf('docker'),
  }
  for (const [label, value] of Object.entries(fields)) await page.getByRole('textbox', { name: label }).fill(value)
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByRole('heading', { name: 'Quay 7', level: 1 }).waitFor()
  const serverId = new URL(page.url()).pathname.split('/').at(-1)!
  await page.getByRole('button', { name: 'Check' }).click()
  await page.getByText(await sshd.fingerprint()).waitFor()
  return serverId
}

interface Adoption {
  service: string
  projectName: string
  isUntouched(): Promise<boolean>
}

/** Selects a service of the scan and reads the plan first; until the deployment nothing on the server changes. */
export async function adoptInBrowser(page: Page, { service, projectName, isUntouched }: Adoption): Promise<string> {
  await page.getByRole('checkbox', { name: service }).check()
  await page.getByLabel('Project name').fill(projectName)
  await page.getByRole('button', { name: 'Show plan' }).click()
  await page.getByText('What the first deployment will do').waitFor()
  await page.getByRole('button', { name: 'Adopt', exact: true }).click()
  await page.getByRole('heading', { name: projectName, level: 1 }).waitFor()
  expect(await isUntouched()).toBe(true)
  return new URL(page.url()).pathname.split('/')[2]!
}

export async function deployInBrowser(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Deploy', exact: true }).click()
  await page.getByRole('heading', { name: 'Deployment #1' }).waitFor()
  await page.locator('header').getByText('live', { exact: true }).waitFor({ timeout: 120_000 })
}
