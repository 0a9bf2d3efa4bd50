import { createHash } from 'node:crypto'
import { constants, createReadStream, createWriteStream } from 'node:fs'
import { lstat, mkdir, open as openFile, readFile, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { remainingMs, type Tree } from './checkout-settings.ts'
import { GitError, GitTooLarge } from './git-errors.ts'
import { type LargeObject, openObject, requestObjects } from './large-object-server.ts'

interface Pointer {
  path: string
  object: LargeObject
}

const objectsPerRequest = 50

/** Replaces Git LFS pointers by their files. Returns warnings for the user who deploys. */
export async function fetchLargeFiles(tree: Tree): Promise<string[]> {
  const pointers = await findPointers(tree)
  if (pointers.length === 0) return []
  if (tree.git.parse(tree.url).scheme === 'ssh')
    return [
      `${pointers.length} Git LFS files are not fetched, because that needs https; the folder contains their pointers instead`,
    ]
  const objects = [...new Map(pointers.map(({ object }) => [object.oid, object])).values()]
  tree.remaining.bytes -= objects.reduce((sum, { size }) => sum + size, 0)
  if (tree.remaining.bytes < 0) throw new GitTooLarge('The Git LFS files exceed the size limit')
  tree.options.onProgress?.(`Fetching ${objects.length} files from Git LFS`)
  const folder = join(tree.gitFolder, 'berth-lfs')
  await mkdir(folder, { recursive: true })
  for (let at = 0; at < objects.length; at += objectsPerRequest) {
    for (const location of await requestObjects(tree, objects.slice(at, at + objectsPerRequest))) {
      const file = join(folder, location.oid)
      await downloadObject(tree, location, file)
      for (const { path, object } of pointers) if (object.oid === location.oid) await replacePointer(tree, path, file)
      await rm(file, { force: true })
    }
  }
  return []
}

/** Searches only where a .gitattributes enables LFS: a file that merely looks like a pointer is left alone. */
async function findPointers({ run, commit, workTree }: Tree): Promise<Pointer[]> {
  const grepFiles = async (pattern: string, ...paths: string[]) => {
    const args = ['grep', '-l', '-z', '-I', '-E', '-e', pattern, commit, '--', ...paths]
    const { stdout } = await run({ args, acceptExitCodes: [0, 1], maxOutputBytes: 20_000_000 })
    return stdout.split('\0').flatMap((name) => (name ? [name.slice(commit.length + 1)] : []))
  }
  if ((await grepFiles('filter=lfs', '.gitattributes', '**/.gitattributes')).length === 0) return []
  const pointers: Pointer[] = []
  for (const path of await grepFiles('^version https://git-lfs.github.com/spec/v1$')) {
    const file = await lstat(join(workTree, path)).catch(() => null)
    const text = file?.isFile() && file.size < 1024 ? await readFile(join(workTree, path), 'utf8') : ''
    const [, oid, size] =
      /^version https:\/\/git-lfs\.github\.com\/spec\/v1\n(?:ext-[^\n]*\n)*oid sha256:([0-9a-f]{64})\nsize (\d{1,15})\n?$/.exec(
        text,
      ) ?? []
    if (oid) pointers.push({ path, object: { oid, size: Number(size) } })
  }
  return pointers
}

/** The object's name is the hash of its content, so a server or proxy cannot substitute other content. */
async function downloadObject(
  tree: Tree,
  location: LargeObject & { href: string; headers: Record<string, string> },
  file: string,
) {
  const abort = AbortSignal.any([AbortSignal.timeout(remainingMs(tree)), ...(tree.options.abort ? [tree.options.abort] : [])])
  const { response, end } = await openObject(tree, location, abort)
  const hash = createHash('sha256')
  let bytes = 0
  try {
    await pipeline(
      response,
      async function* (chunks: AsyncIterable<Uint8Array>) {
        for await (const chunk of chunks) {
          bytes += chunk.length
          if (bytes > location.size) throw new GitError('A file in Git LFS is larger than its pointer says')
          hash.update(chunk)
          yield chunk
        }
      },
      createWriteStream(file, { mode: 0o600 }),
      { signal: abort },
    )
  } finally {
    end()
  }
  if (bytes !== location.size || hash.digest('hex') !== location.oid)
    throw new GitError(`The file ${location.oid.slice(0, 12)} from Git LFS is not the one that its pointer names`)
}

/** Overwrites the pointer itself: no symlink is followed, in the name or on the path. */
async function replacePointer({ workTree }: Tree, path: string, file: string): Promise<void> {
  const target = join(await realpath(workTree), path)
  if ((await realpath(target).catch(() => '')) !== target) throw new GitError(`${path} is a link, not a Git LFS file`)
  const handle = await openFile(target, constants.O_WRONLY | constants.O_TRUNC | constants.O_NOFOLLOW)
  await pipeline(createReadStream(file), handle.createWriteStream())
}
