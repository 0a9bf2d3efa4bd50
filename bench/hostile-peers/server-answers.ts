import { type EngineReply, startHostileEngine } from '../../tests/kit/hostile-engine.ts'
import { partOf } from '../../tests/kit/machine.ts'
import { startSshd } from '../../tests/kit/sshd.ts'
import type { Scenario } from './scenario.ts'

const idOf = (number: number) => number.toString(16).padStart(64, '0')
const large = JSON.stringify({
  Version: '99.1',
  Components: Array.from({ length: 40_000 }, (_, at) => ({ Name: `part ${at}`, Details: { at: 'x'.repeat(60) } })),
})
const labels = Object.fromEntries(Array.from({ length: 1_200 }, (_, at) => [`label ${at}`, 'x'.repeat(60)]))

const sends =
  (text: string): EngineReply =>
  (_, response) =>
    response.end(text)

/** A server over SSH whose Docker answers with megabytes of JSON: rounds of six concurrent checks, then a scan. */
export const serverAnswers: Scenario = {
  name: 'a server whose Docker answers with megabytes of JSON',
  async run({ hosting, watch, defer }) {
    const sshd = await startSshd(partOf('sshd'))
    defer(() => sshd[Symbol.asyncDispose]())
    const serverWith = async (name: string, replies: Record<string, EngineReply>): Promise<string> => {
      const engine = await startHostileEngine(replies)
      defer(() => engine[Symbol.asyncDispose]())
      const { host, port, user, privateKey } = sshd
      const { body } = await hosting.api('POST', '/servers', { name, host, port, user, privateKey, dockerSocket: engine.socket })
      return body.data.id
    }
    const checked = await serverWith('checked', { '/version': sends(large) })
    const scanned = await serverWith('scanned', {
      '/containers/json': sends(JSON.stringify(Array.from({ length: 40 }, (_, at) => ({ Id: idOf(at) })))),
      '/containers/:id/json': sends(JSON.stringify({ Id: idOf(1), Name: '/large', Config: { Labels: labels } })),
      '/volumes': sends(
        JSON.stringify({ Volumes: Array.from({ length: 22_000 }, (_, at) => ({ Name: `volume ${at}`, Driver: 'local' })) }),
      ),
    })
    // The first scan compiles its schemas, once for the life of the process.
    await hosting.api('POST', '/migration/scan', { serverId: scanned })
    return watch(async (until) => {
      const answers = new Set<string>()
      while (!until.aborted) {
        const checks = Array.from({ length: 6 }, () => hosting.api('POST', `/servers/${checked}/check`))
        for (const { status, body } of await Promise.all(checks)) answers.add(`check ${status} ${body.error ?? ''}`)
        const { status, body } = await hosting.api('POST', '/migration/scan', { serverId: scanned })
        answers.add(`scan ${status} ${body.error ?? `${body.stack?.containers.length} containers`}`)
      }
      return [...answers].join('; ')
    })
  },
}
