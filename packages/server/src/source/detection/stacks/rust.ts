import { quoted } from '../commands.ts'
import { readRust } from '../manifests/rust.ts'
import { has, manifest } from '../signs.ts'
import type { App, Plan, Stack } from '../stack.ts'

export const rust: readonly Stack[] = [{ framework: 'rust', when: manifest('rust', 'a package of Rust'), plan: rustPlan }]

/** Default ports of frameworks, from their examples. */
const ports: readonly [string, number][] = [
  ['rocket', 8000],
  ['axum', 3000],
  ['warp', 3030],
  ['actix-web', 8080],
]

async function rustPlan(app: App): Promise<Plan> {
  const { folder, manifests } = app
  const programs = await findPrograms(app)
  const program = manifests.rust!.defaultRun ?? programs[0]
  const isLocked = folder.has('Cargo.lock')
  return {
    type: 'app',
    language: 'rust',
    ecosystem: 'rust',
    packageManager: 'cargo',
    installCommand: isLocked ? 'cargo fetch --locked' : 'cargo fetch',
    buildCommand: `cargo build --release${isLocked ? ' --locked' : ''}`,
    startCommand: program === undefined ? null : quoted(`./target/release/${program}`),
    port: ports.find(([name]) => has(app, 'rust', name))?.[1] ?? 8080,
    evidence: isLocked ? [{ file: folder.full('Cargo.lock'), says: 'cargo is the package manager' }] : [],
    warnings: [
      ...(isLocked ? [] : ['there is no lockfile of cargo; two builds may differ']),
      ...(program === undefined ? ['no program was found: set the start command'] : []),
      ...(programs.length > 1 ? [`there are several programs (${programs.slice(0, 10).join(', ')}); ${program} is used`] : []),
    ],
  }
}

const maxMembers = 50

/** The programs of the package, or of the members of a workspace. */
async function findPrograms({ folder, manifests }: App): Promise<string[]> {
  const { isPackage, name, binaries, members } = manifests.rust!
  if (isPackage) {
    const others = folder.find('src/bin/*.rs').map((path) => path.slice('src/bin/'.length, -'.rs'.length))
    return [...new Set([...(folder.has('src/main.rs') && name && binaries.length === 0 ? [name] : []), ...binaries, ...others])]
  }
  const folders = members
    .slice(0, maxMembers)
    .flatMap((member) => folder.findFolders(member))
    .slice(0, maxMembers)
  const found = await Promise.all(
    folders.map(async (path) => {
      const member = folder.at(path)
      const toml = await readRust(member)
      if (!toml) return []
      return toml.binaries.length > 0 ? toml.binaries : member.has('src/main.rs') && toml.name ? [toml.name] : []
    }),
  )
  return found.flat()
}
