import type { Service } from '@berth/contract'
import type { AdoptedVolume } from '../../drivers/runtime/runtime.ts'
import type { ReadContainer } from '../../drivers/runtime/server/server-reader.ts'
import { plainText } from './plain-text.ts'
import { unusedName } from './unused-name.ts'

/** Volumes of one adoption, by their names in the project; a source that several services mount is one volume. */
export class AdoptedVolumes {
  readonly byName = new Map<string, AdoptedVolume>()
  readonly #names = new Map<string, string>()
  readonly #taken = new Set<string>()

  nameOf(volume: AdoptedVolume): string {
    const key = JSON.stringify(volume)
    const existing = this.#names.get(key)
    if (existing) return existing
    const name = unusedName('volume' in volume ? plainName(volume.volume) : plainName(`folder${volume.path}`), this.#taken, '-')
    this.#names.set(key, name)
    this.byName.set(name, volume)
    return name
  }
}

/** Leaves room for an appended number. */
const maxLength = 58
const plainName = (name: string) =>
  name
    .replace(/[^a-zA-Z0-9_.-]+/g, '-')
    .replace(/^[^a-zA-Z0-9]+/, '')
    .slice(0, maxLength) || 'data'

/** An anonymous volume is adopted like any other: it holds data. */
export function adoptMounts(
  { mounts }: Pick<ReadContainer, 'mounts'>,
  volumes: AdoptedVolumes,
  warn: (message: string) => void,
): NonNullable<Service['volumes']> {
  return mounts.flatMap(({ type, source, target, readOnly }) => {
    const targetText = plainText(target)
    if (type === 'tmpfs' || !source) {
      warn(`the tmpfs mount at ${targetText} is not adopted`)
      return []
    }
    if (type !== 'volume' && type !== 'bind') {
      warn(`the mount of type ${plainText(type)} at ${targetText} is not adopted`)
      return []
    }
    if (type === 'bind') warn(`${plainText(source)} of the server is mounted at ${targetText} unchanged`)
    const name = volumes.nameOf(type === 'volume' ? { volume: source } : { path: source })
    return [{ type: 'volume' as const, source: name, target, readOnly }]
  })
}
