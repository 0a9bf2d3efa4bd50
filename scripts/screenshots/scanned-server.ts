import { randomBytes } from 'node:crypto'
import { startForeignStack } from '../../tests/kit/foreign-stack.ts'
import { ownerSignIn, startHosting } from '../../tests/kit/hosting.ts'
import { partOf } from '../../tests/kit/machine.ts'
import { startSshd } from '../../tests/kit/sshd.ts'
import type { cameraOf } from './camera.ts'

/** Takes screenshots of a server with a foreign Compose stack: the result of a scan and the plan. Nothing is adopted. */
export async function shootScan(shoot: ReturnType<typeof cameraOf>): Promise<void> {
  await using sshd = await startSshd(partOf('sshd'))
  await using stack = await startForeignStack(`shop${randomBytes(3).toString('hex')}`)
  await using hosting = await startHosting()
  const { host, port, user, privateKey } = sshd
  const made = await hosting.api('POST', '/servers', {
    name: 'Quay 7',
    host,
    port,
    user,
    privateKey,
    dockerSocket: partOf('docker'),
  })
  const { id } = made.body.data
  await hosting.api('POST', `/servers/${id}/check`)
  await shoot(hosting.berth.url, ownerSignIn, [
    {
      name: 'scan',
      address: `/servers/${id}`,
      isWhole: true,
      async act(page) {
        await page.getByRole('button', { name: 'Scan', exact: true }).click()
        const found = page.getByRole('region', { name: stack.name })
        await found.getByRole('button', { name: 'Select all' }).click()
        await page.getByLabel('Project name').fill('Old shop')
        await page.getByRole('button', { name: 'Show plan' }).click()
        await page.getByText('What the first deployment will do').waitFor()
      },
    },
    { name: 'reached-servers', address: '/servers' },
  ])
}
