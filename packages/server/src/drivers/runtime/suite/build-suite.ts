import { readdir } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { ArtifactMissing, BuildFailed } from '../runtime-errors.ts'
import { neverAborted, resources, type SuiteBench } from './suite-bench.ts'

/** Tests of `build`. */
export function buildSuite(suite: SuiteBench): void {
  const { seed, projectId, owner, plan, lines, build } = suite
  describe('build', () => {
    test('its commands get the variables, and their output is returned', async () => {
      lines.length = 0
      const value = `a "b" 'c' $d\n${seed}`
      await build(
        'vars',
        { buildCommand: `node -e "console.log(JSON.stringify(process.env.TOKEN))"` },
        { secrets: { TOKEN: value } },
      )
      expect(lines.map(({ message }) => message)).toContain(JSON.stringify(value))
    })

    test('its commands get the working folder as PWD, which scripts of Yarn need', async () => {
      lines.length = 0
      await build('pwd', { buildCommand: `node -e "console.log('same: ' + (process.env.PWD === process.cwd()))"` })
      expect(lines.map(({ message }) => message)).toContain('same: true')
    })

    test('the home folder of a preview build is not visible to a production build', async () => {
      const inHome = (code: string) =>
        `node -e "const [fs, file] = [require('fs'), require('os').homedir() + '/left-behind']; ${code}"`
      await build('preview', { buildCommand: inHome("fs.writeFileSync(file, 'x')") }, { environment: 'pr-7' })
      lines.length = 0
      await build('after', { buildCommand: inHome("console.log('found: ' + fs.existsSync(file))") })
      expect(lines.map(({ message }) => message)).toContain('found: false')
    })

    test('a failed command is named with its exit code and last lines', async () => {
      const failed = build('bad', { buildCommand: `node -e "console.error('no such page'); process.exit(4)"` })
      await expect(failed).rejects.toThrow('exit code 4')
      const error = await failed.catch((one: unknown) => one)
      expect(error).toBeInstanceOf(BuildFailed)
      expect(error).toMatchObject({ code: 'command_failed', logTail: expect.arrayContaining(['no such page']) })
    })

    test('an outdated lockfile is named, even with much output after it', async () => {
      const message = 'error: lockfile had changes, but lockfile is frozen'
      const installCommand = `node -e "console.error('${message}'); for (let i = 0; i < 99; i++) console.error('usage'); process.exit(1)"`
      await expect(build('lock', { installCommand })).rejects.toThrow(/exit code 1: the lockfile does not match package\.json/)
    })

    test('a build over its time limit is ended with the reason', async () => {
      await expect(build('slow', { buildCommand: 'sleep 100' }, { timeoutMs: 1_500 })).rejects.toMatchObject({
        code: 'timed_out',
      })
    })

    test('a build over its memory limit is ended with the reason', async (context) => {
      if (suite.noLimits) context.skip(suite.noLimits)
      const eats = build('eats', { buildCommand: 'node program.cjs eat' }, { resources: { ...resources, memoryMb: 96 } })
      await expect(eats).rejects.toMatchObject({ code: 'out_of_memory', message: expect.stringContaining('96 MB') })
    })

    test('a fork bomb is ended with the reason', async (context) => {
      if (suite.noLimits) context.skip(suite.noLimits)
      const forks = build('forks', { buildCommand: 'node program.cjs fork' }, { resources: { ...resources, memoryMb: 1024 } })
      await expect(forks).rejects.toMatchObject({ code: 'too_many_processes' })
    })

    test('an abort ends the build', async () => {
      const abort = new AbortController()
      const going = suite.runtime.build(
        {
          owner: owner('gone'),
          service: '',
          sourceFolder: suite.source,
          plan: { ...plan, buildCommand: 'sleep 100' },
          secrets: {},
          resources,
          timeoutMs: 60_000,
        },
        ({ message }) => message.includes('sleep') && setTimeout(() => abort.abort(), 200),
        abort.signal,
      )
      await expect(going).rejects.toThrow()
    })

    test('an artifact is listed with its size and removed once', async () => {
      const other = await build('second', {})
      expect(await suite.runtime.listArtifacts()).toContainEqual(
        expect.objectContaining({ reference: other.reference, projectId, deploymentId: owner('second').deploymentId }),
      )
      expect(other.sizeBytes).toBeGreaterThan(0)
      await suite.runtime.removeArtifact(other, neverAborted)
      await suite.runtime.removeArtifact(other, neverAborted)
      expect((await suite.runtime.listArtifacts()).map(({ reference }) => reference)).not.toContain(other.reference)
    })

    test('all remains of the builds of a project are removed, and their size is known before', async () => {
      const other = `${projectId}other`
      const request = {
        owner: { ...owner('whole'), projectId: other },
        service: '',
        sourceFolder: suite.source,
        plan,
        secrets: {},
        resources,
        timeoutMs: 60_000,
      }
      const made = await suite.runtime.build(request, () => undefined, neverAborted)
      const ofOther = async () => (await suite.runtime.storage(neverAborted)).projects.find((use) => use.projectId === other)
      expect((await ofOther())?.artifactsBytes).toBeGreaterThan(0)
      const before = (await suite.runtime.listArtifacts()).filter((artifact) => artifact.projectId === projectId)
      await suite.runtime.removeBuilds(other, neverAborted)
      await suite.runtime.removeBuilds(other, neverAborted)
      expect((await suite.runtime.listArtifacts()).map(({ reference }) => reference)).not.toContain(made.reference)
      expect(await ofOther()).toBeUndefined()
      const after = (await suite.runtime.listArtifacts()).filter((artifact) => artifact.projectId === projectId)
      expect(after).toHaveLength(before.length)
    })

    test('starting a removed artifact rejects with ArtifactMissing, and pulls nothing', async () => {
      const made = await build('lost', {})
      await suite.runtime.removeArtifact(made, neverAborted)
      const request = {
        instanceId: `ins_${seed}lost`,
        owner: owner('lost'),
        service: '',
        artifact: made,
        command: null,
        entrypoint: null,
        env: {},
        port: null,
        volumes: [],
        network: null,
        resources,
        restart: false,
      }
      await expect(suite.runtime.start(request, neverAborted)).rejects.toBeInstanceOf(ArtifactMissing)
    })

    test('static: only the output folder is served', async () => {
      const made = await build('pages', {
        kind: 'static',
        buildCommand: `node -e "require('fs').mkdirSync('out');require('fs').writeFileSync('out/index.html','hi')"`,
        outputDirectory: 'out',
        startCommand: null,
      })
      expect(made.kind).toBe('static')
      expect(await readdir(made.reference)).toEqual(['index.html'])
    })
  })
}
