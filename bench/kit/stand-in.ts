import { readFile } from 'node:fs/promises'
import { PassThrough } from 'node:stream'
import { pack } from 'tar-stream'
import { openEngine } from '../../packages/server/src/drivers/runtime/docker/engine.ts'
import { partOf } from '../../tests/kit/machine.ts'

/** Ports of well-known programs: the stand-in responds on all of them. */
const ports = [
  80, 443, 1111, 2283, 3000, 3030, 4000, 5000, 5054, 5601, 5678, 5679, 6060, 8000, 8065, 8080, 8123, 9000, 9090, 9200, 9998,
  51820,
]
const program = `process.on('SIGTERM',()=>process.exit());process.on('SIGINT',()=>process.exit())
for(const port of ${JSON.stringify(ports)})require('http').createServer((q,r)=>r.end('OK')).listen(port).on('error',()=>{})
setInterval(()=>{},1e6)`
/** Programs that health checks call. */
const tools = ['curl', 'wget', 'clickhouse-client', 'mongosh', 'dig', 'mc']
/** Programs that commands start instead of the image's own program. */
const servers = ['minio']

const real: [RegExp, Parameters<typeof partOf>[0]][] = [
  [/(^|\/)postgres/, 'postgresImage'],
  [/(^|\/)(mariadb|mysql)/, 'mariadbImage'],
  [/(^|\/)(redis|valkey)/, 'redisImage'],
]

/** Images under the names that foreign Compose files use: the real database if available, otherwise a program that responds. */
export class StandIns {
  readonly #engine = openEngine(partOf('docker'))
  readonly #made = new Set<string>()
  #program: string | undefined

  async provide(image: string): Promise<void> {
    const [repo, tag] = /:[^/]*$/.test(image) ? [image.replace(/:[^/:]*$/, ''), image.replace(/.*:/, '')] : [image, 'latest']
    const whole = `${repo}:${tag}`
    if (this.#made.has(whole)) return
    if (
      await this.#engine
        .getImage(whole)
        .inspect()
        .then(
          () => true,
          () => false,
        )
    )
      return
    const part = real.find(([name]) => name.test(repo))?.[1]
    this.#program ??= await this.#build()
    await this.#engine.getImage(part ? partOf(part) : this.#program).tag({ repo, tag })
    this.#made.add(whole)
  }

  async #build(): Promise<string> {
    const container = await this.#engine.createContainer({ Image: partOf('nodeImage'), Cmd: ['node'] })
    const archive = pack()
    archive.entry({ name: 'stand-in.js' }, program)
    // The image's own shell prefers its built-in tools to those in the path.
    archive.entry({ name: 'bin/dash', mode: 0o755 }, await readFile('/bin/dash'))
    archive.entry({ name: 'bin/sh', type: 'symlink', linkname: 'dash' })
    for (const server of servers) archive.entry({ name: `bin/${server}`, mode: 0o755 }, '#!/bin/sh\nexec node /stand-in.js\n')
    // Mastodon's health check looks for its worker in the process list.
    archive.entry({ name: 'bin/ps', mode: 0o755 }, "#!/bin/sh\necho 'sidekiq 6 sidekiq 7 sidekiq 8'\n")
    for (const tool of tools) archive.entry({ name: `bin/${tool}`, mode: 0o755 }, '#!/bin/sh\necho OK\n')
    archive.finalize()
    await container.putArchive(archive.pipe(new PassThrough()), { path: '/' })
    const { Id } = await container.commit({ changes: 'ENTRYPOINT ["node","/stand-in.js"]\nCMD []' })
    await container.remove()
    this.#made.add(Id)
    return Id
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const image of this.#made)
      await this.#engine
        .getImage(image)
        .remove({ force: true })
        .catch(() => undefined)
  }
}
