import { createHash, createSecretKey, type KeyObject, randomBytes, scryptSync } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { takeFileLock } from '../file-lock.ts'
import type { Secret } from './secret.ts'

export interface SecretKey {
  /** Made from the key itself, so that one key has one id wherever it comes from. */
  readonly id: string
  readonly key: KeyObject
}

export interface KeyRing {
  /** Newest first: the first one encrypts, all of them open. */
  keys(): readonly SecretKey[]
  /** Reads the file again, since another process may have added a key. */
  reload(): void
  /** Adds a key, which encrypts from then on. */
  rotate(): SecretKey
}

/**
 * Keys come from BERTH_SECRET_KEY (newest first, commas between) and from `secret-keys.json` in the data folder.
 * Where the setting is given, keys of the file only open what was encrypted before; where it is not, the file is made once.
 */
export function openKeyRing({ folder, fromSettings }: { folder: string; fromSettings: Secret | null }): KeyRing {
  const file = join(folder, 'secret-keys.json')
  const given = (fromSettings?.reveal().split(',') ?? []).map((text) => toSecretKey(keyFromText(text.trim())))
  if (given.length === 0) makeKeyFile(file)
  const read = () => [...given, ...(readKeyFile(file) ?? []).map(toSecretKey)]
  let keys = read()
  return {
    keys: () => keys,
    reload: () => {
      keys = read()
    },
    rotate: () => {
      if (given.length > 0)
        throw new Error('The newest key comes from BERTH_SECRET_KEY. Put a new key and a comma in front of it instead.')
      addKey(file)
      keys = read()
      return keys[0]!
    },
  }
}

/** A key that is not known may have been added by another process since the start, so the ring is read once more. */
export function findKey(ring: KeyRing, keyId: string): SecretKey | undefined {
  const find = () => ring.keys().find(({ id }) => id === keyId)
  const known = find()
  if (known) return known
  ring.reload()
  return find()
}

const keyBytes = 32

function toSecretKey(key: Buffer): SecretKey {
  const id = createHash('sha256').update('berth secret key id').update(key).digest('hex').slice(0, 8)
  return { id, key: createSecretKey(key) }
}

/** 32 bytes in hex or base64 are the key itself; anything else is a phrase that the key is derived from. */
function keyFromText(text: string): Buffer {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex')
  if (/^[\w+/-]{43}=?$/.test(text)) return Buffer.from(text, 'base64')
  return scryptSync(text, 'berth secret key', keyBytes, { cost: 32_768, maxmem: 64 * 1024 * 1024 })
}

/** Linking the finished file into place is atomic and never replaces: of two starting at once, both use the same key. */
function makeKeyFile(file: string): void {
  if (readKeyFile(file)) return
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const draft = writeDraft(file, [randomBytes(keyBytes)])
  try {
    linkSync(draft, file)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  } finally {
    rmSync(draft, { force: true })
  }
  syncFolder(dirname(file))
}

/** Two rotations at once must not each drop the other's key, hence the lock. */
function addKey(file: string): void {
  const lock = takeFileLock(`${file}.lock`, { waitMs: 5000 })
  if (!lock) throw new Error('Another process is changing secret-keys.json; try again')
  try {
    const draft = writeDraft(file, [randomBytes(keyBytes), ...(readKeyFile(file) ?? [])])
    renameSync(draft, file)
    syncFolder(dirname(file))
  } finally {
    lock.release()
  }
}

/** Null where there is no file. A damaged one stops the start: a new key in its place would make every secret unreadable. */
function readKeyFile(file: string): Buffer[] | null {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
  try {
    const keys = (JSON.parse(text) as { keys: string[] }).keys.map((key) => Buffer.from(key, 'base64url'))
    if (keys.length > 0 && keys.every((key) => key.length === keyBytes)) return keys
  } catch {
    // Told below, without the text: it may hold parts of keys.
  }
  throw new Error(`${file} is damaged. Restore a copy of it, or set BERTH_SECRET_KEY and delete the file.`)
}

function writeDraft(file: string, keys: Buffer[]): string {
  const draft = `${file}.${randomBytes(6).toString('hex')}.tmp`
  const handle = openSync(draft, 'wx', 0o600)
  try {
    writeSync(handle, `${JSON.stringify({ newestFirst: true, keys: keys.map((key) => key.toString('base64url')) }, null, 2)}\n`)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
  return draft
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
