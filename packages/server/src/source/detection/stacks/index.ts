import type { Stack } from '../stack.ts'
import { anyCompose, composeThatBuilds } from './compose.ts'
import { bareDeno, deno } from './deno.ts'
import { dockerfile } from './docker.ts'
import { dotnet } from './dotnet.ts'
import { phoenix, plainElixir } from './elixir.ts'
import { bareGo, go } from './go.ts'
import { javaFrameworks, plainJava } from './java.ts'
import { monorepo } from './monorepo.ts'
import { nodeApps, otherNode, plainNode } from './node-apps.ts'
import { nodeFrameworks } from './node-frameworks.ts'
import { pagePrograms } from './page-programs.ts'
import { phpFrameworks, plainPhp } from './php.ts'
import { procfileOnly } from './procfile.ts'
import { django, plainPython, pythonServers } from './python.ts'
import { plainRuby, rails, rubyServers } from './ruby.ts'
import { rust } from './rust.ts'
import { browserBundlers, nitroFrameworks, siteGenerators } from './site-generators.ts'
import { staticPages } from './static.ts'

/** Rows by precedence: the first match wins. */
export const appStacks: readonly Stack[] = [
  // Back ends whose package.json, if any, only builds their assets.
  ...phpFrameworks,
  ...rails,
  ...phoenix,
  ...django,
  ...javaFrameworks,
  ...dotnet,
  ...siteGenerators,
  ...nitroFrameworks,
  ...nodeFrameworks,
  ...pagePrograms,
  ...pythonServers,
  ...rubyServers,
  ...go,
  ...rust,
  ...deno,
  ...nodeApps,
  ...browserBundlers,
  // No framework: by the program that can be started.
  ...plainPhp,
  ...plainNode,
  ...plainJava,
  ...plainElixir,
  ...plainRuby,
  ...plainPython,
  ...bareGo,
  ...bareDeno,
]

export const stacks: readonly Stack[] = [
  ...composeThatBuilds,
  ...dockerfile,
  ...monorepo([...appStacks, ...staticPages]),
  ...appStacks,
  ...anyCompose,
  ...procfileOnly,
  ...staticPages,
  ...otherNode,
]
