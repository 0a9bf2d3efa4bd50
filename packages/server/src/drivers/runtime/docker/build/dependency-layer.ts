import type { BuildPlan } from '../../build-plan.ts'
import type { StackName } from './base-images.ts'

/** Read access to a source folder. Paths are relative, with `/`. */
export interface SourceFiles {
  paths: readonly string[]
  /** Returns null for a file that is too large. */
  read(path: string): Promise<string | null>
}

interface InstallRule {
  /** Files that an install reads. */
  files: RegExp
  /** Content of these files that shows that the install needs other files as well. */
  needsOtherFiles: RegExp | null
}

const nodeRule: InstallRule = {
  files:
    /(^|\/)(package(-lock)?\.json|npm-shrinkwrap\.json|pnpm-(lock|workspace)\.yaml|yarn\.lock|bun\.lockb?|bunfig\.toml|\.npmrc|\.yarnrc(\.yml)?|\.pnpmfile\.c?js|lerna\.json|\.nvmrc|\.node-version|(\.yarn\/(releases|plugins|patches)|patches)\/[^/]+)$/,
  needsOtherFiles: /"(pre|post)?install"\s*:\s*"|"(pre|post)?prepare"\s*:\s*"|"prepublish"\s*:\s*"|"(file|link|portal):/,
}

const installRules: Partial<Record<StackName, InstallRule>> = {
  node: nodeRule,
  static: nodeRule,
  bun: nodeRule,
  deno: { files: /(^|\/)(deno\.jsonc?|deno\.lock|package\.json)$/, needsOtherFiles: null },
  python: {
    files:
      /(^|\/)([^/]*requirements[^/]*\.txt|constraints[^/]*\.txt|requirements\/[^/]+\.txt|pyproject\.toml|uv\.lock|poetry\.(lock|toml)|pdm\.lock|Pipfile(\.lock)?|\.python-version)$/,
    // The project itself, or a folder of it, is one of the dependencies.
    needsOtherFiles: /^[ \t]*(-e\b|--editable|\.|file:)|^\[build-system\]|\bpath\s*=/m,
  },
  go: { files: /(^|\/)go\.(mod|sum|work|work\.sum)$/, needsOtherFiles: /=>\s*\.{1,2}\// },
  ruby: {
    files: /(^|\/)(Gemfile(\.lock)?|\.ruby-version|\.tool-versions)$/,
    needsOtherFiles: /\bgemspec\b|\bpath:|eval_gemfile|require_relative/,
  },
  php: {
    files: /(^|\/)(composer\.(json|lock)|package(-lock)?\.json|yarn\.lock|pnpm-lock\.yaml|\.npmrc)$/,
    needsOtherFiles: /"(scripts|classmap|files)"\s*:\s*[{[]|"type"\s*:\s*"path"/,
  },
  dotnet: {
    files:
      /(^|\/)([^/]+\.(cs|fs|vb)proj|[^/]+\.slnx?|Directory\.[^/]+\.(props|targets)|nuget\.config|NuGet\.Config|packages\.lock\.json|global\.json)$/,
    needsOtherFiles: /<Import\b/,
  },
  elixir: {
    files: /(^|\/)(mix\.(exs|lock)|config\/[^/]+\.exs)$/,
    needsOtherFiles: /\bpath:|Code\.(require|eval)_file|File\.read/,
  },
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
  const rule = installRules[stack]
  if (!installCommand || !rule || !isKnownInstall(installCommand)) return null
  const found = paths.filter((path) => rule.files.test(path)).sort()
  if (found.length === 0) return null
  if (rule.needsOtherFiles)
    for (const path of found) {
      if (/(\.lock|-lock\.(json|yaml)|\.lockb|\.sum)$/.test(path)) continue
      const text = await read(path)
      if (text === null || rule.needsOtherFiles.test(text)) return null
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
