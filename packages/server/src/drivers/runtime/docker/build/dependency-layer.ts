import type { BuildPlan } from '../../runtime.ts'
import type { StackName } from './base-images.ts'

/** Read access to a source folder. Paths are relative, with `/`. */
export interface SourceFiles {
  paths: readonly string[]
  /** Returns null for a file that is too large. */
  read(path: string): Promise<string | null>
}

interface Row {
  /** Files that an install reads. */
  files: RegExp
  /** Content of these files that shows that the install needs other files as well. */
  needsMore: RegExp | null
}

const nodeRow: Row = {
  files:
    /(^|\/)(package(-lock)?\.json|npm-shrinkwrap\.json|pnpm-(lock|workspace)\.yaml|yarn\.lock|bun\.lockb?|bunfig\.toml|\.npmrc|\.yarnrc(\.yml)?|\.pnpmfile\.c?js|lerna\.json|\.nvmrc|\.node-version|(\.yarn\/(releases|plugins|patches)|patches)\/[^/]+)$/,
  needsMore: /"(pre|post)?install"\s*:\s*"|"(pre|post)?prepare"\s*:\s*"|"prepublish"\s*:\s*"|"(file|link|portal):/,
}

const rows: Partial<Record<StackName, Row>> = {
  node: nodeRow,
  static: nodeRow,
  bun: nodeRow,
  deno: { files: /(^|\/)(deno\.jsonc?|deno\.lock|package\.json)$/, needsMore: null },
  python: {
    files:
      /(^|\/)([^/]*requirements[^/]*\.txt|constraints[^/]*\.txt|requirements\/[^/]+\.txt|pyproject\.toml|uv\.lock|poetry\.(lock|toml)|pdm\.lock|Pipfile(\.lock)?|\.python-version)$/,
    // The project itself, or a folder of it, is one of the dependencies.
    needsMore: /^[ \t]*(-e\b|--editable|\.|file:)|^\[build-system\]|\bpath\s*=/m,
  },
  go: { files: /(^|\/)go\.(mod|sum|work|work\.sum)$/, needsMore: /=>\s*\.{1,2}\// },
  ruby: {
    files: /(^|\/)(Gemfile(\.lock)?|\.ruby-version|\.tool-versions)$/,
    needsMore: /\bgemspec\b|\bpath:|eval_gemfile|require_relative/,
  },
  php: {
    files: /(^|\/)(composer\.(json|lock)|package(-lock)?\.json|yarn\.lock|pnpm-lock\.yaml|\.npmrc)$/,
    needsMore: /"(scripts|classmap|files)"\s*:\s*[{[]|"type"\s*:\s*"path"/,
  },
  dotnet: {
    files:
      /(^|\/)([^/]+\.(cs|fs|vb)proj|[^/]+\.slnx?|Directory\.[^/]+\.(props|targets)|nuget\.config|NuGet\.Config|packages\.lock\.json|global\.json)$/,
    needsMore: /<Import\b/,
  },
  elixir: { files: /(^|\/)(mix\.(exs|lock)|config\/[^/]+\.exs)$/, needsMore: /\bpath:|Code\.(require|eval)_file|File\.read/ },
}

/**
 * Files that determine the result of an install, which is repeated only when one of them changes. Null: the install reads
 * other files as well, and must run on the whole source.
 */
export async function dependencyFiles(
  stack: StackName,
  { installCommand }: Pick<BuildPlan, 'installCommand'>,
  { paths, read }: SourceFiles,
): Promise<string[] | null> {
  const row = rows[stack]
  if (!installCommand || !row || !isKnownInstall(installCommand)) return null
  const found = paths.filter((path) => row.files.test(path)).sort()
  if (found.length === 0) return null
  if (row.needsMore)
    for (const path of found) {
      if (/(\.lock|-lock\.(json|yaml)|\.lockb|\.sum)$/.test(path)) continue
      const text = await read(path)
      if (text === null || row.needsMore.test(text)) return null
    }
  return found
}

/** Whether the command is known to read only these files. A user's own command may read anything. */
const isKnownInstall = (command: string) =>
  command
    .split('&&')
    .every((part) =>
      /^\s*(npm (ci|install)|pnpm (i|install)|yarn( install)?|bun (i|install)|deno install|pip3? install -r|uv sync|poetry install|pdm (sync|install)|pipenv (sync|install)|go mod download|bundle install|composer install|dotnet restore|mix deps\.get)(\s|$)/.test(
        part,
      ),
    )
