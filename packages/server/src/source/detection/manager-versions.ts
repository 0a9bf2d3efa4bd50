import type { Folder } from './folder.ts'
import { readNpm } from './manifests/npm.ts'

interface Source {
  runtime: string
  file: string
  read: (folder: Folder) => Promise<string | null | undefined>
}

/** The version in `packageManager`, without its hash. */
const fromPackageManagerField = (manager: string): Source => ({
  runtime: manager,
  file: 'package.json',
  read: async (folder) => {
    const field = (await readNpm(folder))?.packageManager?.slice(0, 200) ?? ''
    return field.startsWith(`${manager}@`) ? /^(\d[\w.-]{0,40})/.exec(field.slice(manager.length + 1))?.[1] : null
  },
})

const fromEngines = (manager: string): Source => ({
  runtime: manager,
  file: 'package.json',
  read: async (folder) => (await readNpm(folder))?.engines.get(manager),
})

/** Package manager versions by lockfile version, newest first. */
const byLockfile = {
  pnpm: [
    [9, '>=9 <11'],
    [6, '8'],
    [5.4, '7'],
    [5.3, '6'],
  ],
  yarn: [
    [8, '4'],
    [6, '3'],
    [0, '2'],
  ],
} as const

function versionsFor(manager: keyof typeof byLockfile, kind: string | undefined): string | null {
  if (kind === undefined) return null
  return byLockfile[manager].find(([from]) => Number(kind) >= from)?.[1] ?? null
}

async function fromYarnLock(folder: Folder): Promise<string | null> {
  const head = (await folder.head('yarn.lock')) ?? ''
  if (/^# yarn lockfile v1$/m.test(head)) return '1'
  return versionsFor('yarn', /^__metadata:\s+version: (\d{1,3})$/m.exec(head)?.[1])
}

/** Sources of package manager versions; an explicit version comes before one derived from a lockfile. */
export const managerVersions: readonly Source[] = [
  ...['npm', 'pnpm', 'yarn', 'bun'].map(fromPackageManagerField),
  ...['pnpm', 'yarn'].map(fromEngines),
  {
    runtime: 'pnpm',
    file: 'pnpm-lock.yaml',
    read: async (folder) =>
      versionsFor(
        'pnpm',
        /^lockfileVersion: ['"]?(\d{1,3}(?:\.\d{1,3})?)/m.exec((await folder.head('pnpm-lock.yaml')) ?? '')?.[1],
      ),
  },
  { runtime: 'yarn', file: 'yarn.lock', read: fromYarnLock },
  // The text format exists since 1.2.
  { runtime: 'bun', file: 'bun.lock', read: async () => '>=1.2 <2' },
]
