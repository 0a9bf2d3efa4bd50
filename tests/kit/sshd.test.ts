import { Client } from 'ssh2'
import { expect, test } from 'vitest'
import { need } from './machine.ts'
import { type Sshd, startSshd } from './sshd.ts'

/** Connects, reports the host key that it met, and runs one command. */
function runOver(sshd: Sshd, command: string): Promise<{ output: string; fingerprint: string }> {
  return new Promise((resolve, reject) => {
    const client = new Client()
    let fingerprint = ''
    client.on('error', reject).on('ready', () => {
      client.exec(command, (error, channel) => {
        if (error) return reject(error)
        let output = ''
        channel
          .on('data', (piece: Buffer) => (output += piece))
          .on('close', () => {
            client.end()
            resolve({ output, fingerprint })
          })
      })
    })
    client.connect({
      host: sshd.host,
      port: sshd.port,
      username: sshd.user,
      privateKey: sshd.privateKey,
      hostHash: 'sha256',
      hostVerifier: (hash: string) => {
        fingerprint = `SHA256:${Buffer.from(hash, 'hex').toString('base64').replace(/=+$/, '')}`
        return true
      },
    })
  })
}

test('the test sshd runs commands, shows its host key, and shows another one after a swap', async () => {
  await using sshd = await startSshd(need('sshd'))
  const before = await runOver(sshd, 'echo out of the shell')
  expect(before).toEqual({ output: 'out of the shell\n', fingerprint: await sshd.fingerprint() })
  await sshd.swapHostKey()
  const after = await runOver(sshd, 'echo again')
  expect(after).toEqual({ output: 'again\n', fingerprint: await sshd.fingerprint() })
  expect(after.fingerprint).not.toBe(before.fingerprint)
  await sshd.stop()
  await expect(runOver(sshd, 'echo')).rejects.toThrow('ECONNREFUSED')
})
