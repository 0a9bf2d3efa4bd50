import type { Project } from '@berth/contract'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openEngine } from '../../packages/server/src/drivers/runtime/docker/engine.ts'
import { Labels } from '../../packages/server/src/drivers/runtime/docker/labels.ts'
import { execIn } from '../../packages/server/src/drivers/runtime/docker/run/exec.ts'
import { type Hosting, ownerSignIn, startHosting } from '../kit/hosting.ts'
import { describeNeeding, partOf } from '../kit/machine.ts'
import { describeOnDocker } from '../kit/runtimes.ts'

/** The entry point of the public image: the server runs as its own user, any other command as root. */
const entryPoint = [
  '#!/bin/sh',
  'if [ "$1" = redis-server ]; then',
  '  chown redis:redis /data && cd /data && exec /usr/bin/setpriv --reuid=999 --regid=999 --clear-groups -- "$@"',
  'fi',
  'exec "$@"',
].join('\n')

describeOnDocker('templates of the catalogue', () =>
  describeNeeding(['redisImage'], 'with a stand-in for the public image', () => {
    const engine = openEngine(partOf('docker'))
    const [repo, tag] = ['redis', '8.10.1']
    let hosting: Hosting
    beforeAll(async () => {
      await makeStandIn()
      hosting = await startHosting({ runtime: 'docker' })
      const login = ['login', '--email', ownerSignIn.email, '--password-stdin']
      expect(await hosting.cli(login, { input: ownerSignIn.password })).toMatchObject({ code: 0 })
    })
    afterAll(async () => {
      await hosting?.[Symbol.asyncDispose]()
      await engine.getImage(`${repo}:${tag}`).remove({ force: true })
    })

    async function makeStandIn(): Promise<void> {
      const path = '/usr/local/bin/docker-entrypoint.sh'
      const command = ['sh', '-c', `printf '%s\\n' "$TEXT" > ${path} && chmod 755 ${path}`]
      const container = await engine.createContainer({
        Image: partOf('redisImage'),
        Entrypoint: command,
        Env: [`TEXT=${entryPoint}`],
      })
      try {
        await container.start()
        expect(await container.wait()).toMatchObject({ StatusCode: 0 })
        const changes = ['ENTRYPOINT ["docker-entrypoint.sh"]', 'CMD ["redis-server"]', 'ENV TEXT=']
        await container.commit({ repo, tag, changes: changes.join('\n') })
      } finally {
        await container.remove({ force: true })
      }
    }

    async function inside(projectId: string, script: string): Promise<string> {
      const filters = JSON.stringify({ label: [`berth.project=${projectId}`, 'berth.kind=instance'], status: ['running'] })
      const [container] = await engine.listContainers({ filters } as object)
      const name = (container?.Names[0] ?? '').replace(/^\//, '')
      let output = ''
      const onStdout = (chunk: Uint8Array) => {
        output += Buffer.from(chunk).toString()
      }
      const argv = ['sh', '-c', script]
      await execIn(name, { argv, onStdout }, { engine, labels: new Labels('tests') }, AbortSignal.timeout(120_000))
      return output.trim()
    }

    test('berth add redis starts a server that requires the password and keeps its data across a deployment', async () => {
      const added = await hosting.cli(['add', 'redis', '--name', 'Shop cache', '--json'])
      expect(added).toMatchObject({ code: 0 })
      const { project } = JSON.parse(added.stdout) as { project: Project }
      expect(project).toMatchObject({ name: 'Shop cache', slug: 'shop-cache', type: 'services' })
      expect((await hosting.cli(['env', 'list', '--project', 'shop-cache'])).stdout).toMatch(/REDIS_PASSWORD +•+/)
      const withPassword = (words: string) => inside(project.id, `REDISCLI_AUTH="$REDIS_PASSWORD" redis-cli ${words}`)
      expect(await inside(project.id, 'redis-cli get colour')).toContain('NOAUTH')
      expect(await withPassword('set colour teal')).toBe('OK')
      expect((await hosting.settled(await hosting.deploy(project.id))).error).toBeNull()
      await expect.poll(() => withPassword('get colour').catch(() => '')).toBe('teal')
    })
  }),
)
