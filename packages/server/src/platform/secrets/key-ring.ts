import { createHash, createSecretKey, type KeyObject, randomBytes, scryptSync } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { takeFileLock } from '../file-lock.ts'
import type { Secret } from './secret.ts'

export interface SecretKey {
  /** Derived from the key, so that a key has the same id whether it comes from the settings or the file. */
  readonly id: string
  readonly key: KeyObject
}

export interface KeyRing {
  /** Newest first: the first key encrypts, all keys decrypt. */
  keys(): readonly SecretKey[]
  /** Reads the file again, since another process may have added a key. */
  reload(): void
  /** Adds a key, which encrypts from then on. */
  rotate(): SecretKey
}

/**
 * Opens the keys of BERTH_SECRET_KEY (newest first, comma-separated) and of `secret-keys.json` in the data folder. If the setting
 * is present, the keys of the file only decrypt older values; otherwise the file is created once.
 */
export function openKeyRing({ folder, fromSettings }: { folder: string; fromSettings: Secret | null }): KeyRing {
  const file = join(folder, 'secret-keys.json')
  const settingKeys = (fromSettings?.reveal().split(',') ?? []).map((text) => toSecretKey(keyFromText(text.trim())))
  if (settingKeys.length === 0) makeKeyFile(file)
  const read = () => [...settingKeys, ...(readKeyFile(file) ?? []).map(toSecretKey)]
  let keys = read()
  return {
    keys: () => keys,
    reload: () => {
      keys = read()
    },
    rotate: () => {
      if (settingKeys.length > 0)
        throw new Error('The newest key comes from BERTH_SECRET_KEY. Put a new key and a comma in front of it instead.')
      addKey(file)
      keys = read()
      return keys[0]!
    },
  }
}

/** Finds a key. If it is unknown, the ring is reloaded, because another process may have added the key. */
export function findKey(ring: KeyRing, keyId: string): SecretKey | undefined {
  const find = () => ring.keys().find(({ id }) => id === keyId)
  const found = find()
  if (found) return found
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

/** Creates the file by a hard link, which is atomic and never replaces a file: two concurrent starts use the same key. */
function makeKeyFile(file: string): void {
  if (readKeyFile(file)) return
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const temporaryFile = writeTemporaryFile(file, [randomBytes(keyBytes)])
  try {
    linkSync(temporaryFile, file)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  } finally {
    rmSync(temporaryFile, { force: true })
  }
  syncFolder(dirname(file))
}

/** The lock prevents two concurrent rotations from dropping each other's key. */
function addKey(file: string): void {
  const lock = takeFileLock(`${file}.lock`, { waitMs: 5000 })
  if (!lock) throw new Error('Another process is changing secret-keys.json. Try again.')
  try {
    const temporaryFile = writeTemporaryFile(file, [randomBytes(keyBytes), ...(readKeyFile(file) ?? [])])
    renameSync(temporaryFile, file)
    syncFolder(dirname(file))
  } finally {
    lock.release()
  }
}

/** Null if the file does not exist. Throws if it is damaged: a new key would make every secret unreadable. */
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
    // The error below omits the text, which may contain parts of keys.
  }
  throw new Error(`${file} is damaged. Restore a copy of it, or set BERTH_SECRET_KEY and delete the file.`)
}

function writeTemporaryFile(file: string, keys: Buffer[]): string {
  const temporaryFile = `${file}.${randomBytes(6).toString('hex')}.tmp`
  const handle = openSync(temporaryFile, 'wx', 0o600)
  try {
    writeSync(handle, `${JSON.stringify({ newestFirst: true, keys: keys.map((key) => key.toString('base64url')) }, null, 2)}\n`)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
  return temporaryFile
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
