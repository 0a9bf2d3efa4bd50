import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { partOf } from '../../tests/kit/machine.ts'

const run = promisify(execFile)
const fileNames = ['compose.yaml', 'compose.yml', 'docker-compose.yaml', 'docker-compose.yml']

/** A foreign Compose file, started by the machine's Compose tool on the test machine's engine. */
export interface ForeignCompose {
  name: string
  /** Service → image, as the tool has parsed the files. */
  images(): Promise<Map<string, string>>
  /** An image named by its digest cannot be built here: such services get an override file with a plain name. */
  up(): Promise<void>
  down(): Promise<void>
}

/** Undefined if there is no Compose file in the folder. */
export function foreignCompose(name: string, folder: string): ForeignCompose | undefined {
  const file = fileNames.find((one) => existsSync(join(folder, one)))
  if (!file) return undefined
  const override = join(folder, 'plain-names.override.yaml')
  const compose = (...words: string[]) => {
    const files = [join(folder, file), ...(existsSync(override) ? [override] : [])].flatMap((path) => ['--file', path])
    const env = { ...process.env, DOCKER_HOST: `unix://${partOf('docker')}`, COMPOSE_IGNORE_ORPHANS: '1' }
    return run('docker-compose', [...files, '--project-name', name, ...words], {
      cwd: folder,
      env,
      timeout: 300_000,
      maxBuffer: 1e8,
    })
  }
  const images = async () => {
    const { services } = parse((await compose('config')).stdout) as { services: Record<string, { image?: string }> }
    return new Map(Object.entries(services).map(([service, { image }]) => [service, image ?? `${name}_${service}`]))
  }
  return {
    name,
    async images() {
      const found = await images()
      const pinned = [...found].filter(([, image]) => image.includes('@'))
      if (pinned.length === 0) return found
      const services = Object.fromEntries(pinned.map(([service, image]) => [service, { image: image.replace(/@.*/, '') }]))
      await writeFile(override, JSON.stringify({ version: '3.8', services }))
      return images()
    },
    up: async () => void (await compose('up', '--detach', '--no-build')),
    down: async () => void (await compose('down', '--volumes', '--timeout', '2')),
  }
}
