import { expect, test } from 'vitest'
import { maxTunnels, Tunnels } from './tunnels.ts'

const remote = { host: '127.0.0.1', port: 1 }
const nowhere = { toPort: () => Promise.reject(new Error('connection refused')) }

test('the port of an instance depends on its id: it is the same after a restart', async () => {
  const before = new Tunnels(nowhere)
  const { port } = await before.open('ins_one', { ...remote, port: 32_768 })
  expect(await before.open('ins_one', { ...remote, port: 32_769 })).toMatchObject({ host: '127.0.0.1', port })
  await before.closeAll()
  const after = new Tunnels(nowhere)
  expect((await after.open('ins_one', { ...remote, port: 32_768 })).port).toBe(port)
  await after.closeAll()
})

test('a server that lists too many instances gets a limited number of ports', async () => {
  const tunnels = new Tunnels(nowhere)
  try {
    for (let at = 0; at < maxTunnels; at++) await tunnels.open(`ins_${at}`, remote)
    await expect(tunnels.open('ins_more', remote)).rejects.toThrow('more than 1024')
    await tunnels.close('ins_0')
    expect((await tunnels.open('ins_more', remote)).port).toBeGreaterThan(0)
  } finally {
    await tunnels.closeAll()
  }
})
