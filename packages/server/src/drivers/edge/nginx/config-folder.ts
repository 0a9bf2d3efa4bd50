import { chmod, chown, lstat, mkdir, readdir, readFile, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { nginxFiles } from '../../../edge-proxy/protocol/nginx-files.ts'
import type { NginxConfig } from './nginx-config.ts'
import type { NginxUser } from './nginx-user.ts'

const configurationForm = /^config-\d+$/

/** The folder of nginx: configurations, each in a folder of its own, and the certificates they name. */
export class ConfigFolder {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  /** The workers of nginx may pass through the folder, which holds the socket of the edge, and list nothing. */
  async create(user: NginxUser | null): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    for (const [name, mode] of [
      [nginxFiles.temp, 0o711],
      [nginxFiles.certificates, 0o700],
    ] as const)
      await mkdir(join(this.#folder, name), { recursive: true, mode })
    if (!user) return
    await chown(this.#folder, -1, user.gid)
    await chmod(this.#folder, 0o710)
  }

  /** Writes a configuration that is not used yet; returns its name. */
  async write({ files, certificates }: NginxConfig): Promise<string> {
    const names = await this.#configurations()
    const name = `config-${1 + Math.max(0, ...names.map((one) => Number(one.slice('config-'.length))))}`
    const folder = join(this.#folder, name)
    await mkdir(folder, { mode: 0o700 })
    for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text, { mode: 0o600 })
    const existing = new Set(await readdir(join(this.#folder, nginxFiles.certificates)))
    for (const [file, text] of certificates) if (!existing.has(file)) await this.#writeCertificate(file, text)
    return name
  }

  /** Makes the configuration the active one, in one step. */
  async activate(name: string): Promise<void> {
    const link = join(this.#folder, `${nginxFiles.active}.new`)
    await rm(link, { force: true })
    await symlink(name, link)
    await rename(link, join(this.#folder, nginxFiles.active))
  }

  /** The texts of the active configuration; undefined if there is none. */
  async readActive(): Promise<Record<string, string> | undefined> {
    const folder = join(this.#folder, nginxFiles.active)
    const names = await readdir(folder).catch(() => undefined)
    if (!names) return undefined
    const texts = await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const))
    return Object.fromEntries(texts)
  }

  remove(name: string): Promise<void> {
    return rm(join(this.#folder, name), { recursive: true, force: true })
  }

  /** Removes configurations and certificates that nginx does not use. Call it after nginx has loaded the active configuration. */
  async removeUnused(certificates: NginxConfig['certificates']): Promise<void> {
    const active = await readlink(join(this.#folder, nginxFiles.active))
    for (const name of await this.#configurations()) if (name !== active) await this.remove(name)
    const folder = join(this.#folder, nginxFiles.certificates)
    for (const file of await readdir(folder)) if (!certificates.has(file)) await rm(join(folder, file), { force: true })
  }

  async #configurations(): Promise<string[]> {
    const names = (await readdir(this.#folder)).filter((name) => configurationForm.test(name))
    const stats = await Promise.all(names.map((name) => lstat(join(this.#folder, name)).catch(() => undefined)))
    return names.filter((_, at) => stats[at]?.isDirectory())
  }

  async #writeCertificate(file: string, text: string): Promise<void> {
    const path = join(this.#folder, nginxFiles.certificates, file)
    await writeFile(`${path}.new`, text, { mode: 0o600 })
    await rename(`${path}.new`, path)
  }
}
