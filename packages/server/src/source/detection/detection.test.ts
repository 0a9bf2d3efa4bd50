import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Detection as DetectionShape, Service } from '@berth/contract'
import { Value } from 'typebox/value'
import { describe, expect, test } from 'vitest'
import { detectFolder } from './detect-folder.ts'

const fixtures = join(import.meta.dirname, '../../../tests/detection/fixtures')
const stacks = readdirSync(fixtures, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))

/** Every stack that the issue names, and the fixtures that show it. */
const promised: Record<string, string[]> = {
  'Next.js': ['nextjs', 'nextjs-export', 'nextjs-port'],
  Nuxt: ['nuxt', 'nuxt-generate'],
  SvelteKit: ['sveltekit', 'sveltekit-static', 'sveltekit-auto'],
  Remix: ['remix', 'remix-classic'],
  'React Router': ['react-router', 'react-router-spa'],
  Astro: ['astro', 'astro-node'],
  Vite: ['vite', 'vite-output'],
  Angular: ['angular', 'angular-ssr'],
  Gatsby: ['gatsby'],
  'Create React App': ['create-react-app'],
  'Vue CLI': ['vue-cli'],
  Express: ['express', 'express-vite'],
  Fastify: ['fastify'],
  Hono: ['hono'],
  NestJS: ['nestjs'],
  Koa: ['koa'],
  'plain Node': ['node', 'node-procfile', 'node-worker'],
  Deno: ['deno', 'deno-plain'],
  Bun: ['bun'],
  Django: ['django', 'django-plain'],
  Flask: ['flask', 'flask-factory'],
  FastAPI: ['fastapi', 'fastapi-poetry'],
  'plain Python': ['python-pip', 'python-poetry', 'python-uv', 'python-pipenv', 'python-worker', 'python-bot'],
  Go: ['go', 'go-cmd'],
  Rust: ['rust', 'rust-workspace'],
  'Ruby on Rails': ['rails'],
  Sinatra: ['sinatra'],
  'plain Ruby': ['rack'],
  Laravel: ['laravel'],
  Symfony: ['symfony'],
  'plain PHP': ['php', 'php-public'],
  'Spring Boot': ['spring-boot-maven', 'spring-boot-gradle'],
  Quarkus: ['quarkus', 'quarkus-gradle'],
  'plain Java': ['java'],
  '.NET': ['dotnet', 'dotnet-worker', 'blazor'],
  'Elixir Phoenix': ['phoenix', 'elixir'],
  'static HTML': ['static-html', 'static-public', 'static-build'],
  Dockerfile: ['dockerfile', 'dockerfile-node', 'dockerfile-no-port'],
  Compose: ['compose', 'compose-images', 'compose-beside'],
  monorepos: ['monorepo-npm', 'monorepo-pnpm', 'monorepo-yarn', 'monorepo-turbo', 'monorepo-nx', 'subfolders'],
  'nothing at all': ['unknown'],
}

describe.each(Object.entries(promised))('%s', (_, names) => {
  test.each(names)('%s is detected completely', async (name) => {
    const detection = await detectFolder(join(fixtures, name))
    expect(detection).toEqual(JSON.parse(readFileSync(join(fixtures, `${name}.expected.json`), 'utf8')))
    expect(Value.Check(DetectionShape, detection)).toBe(true)
    expect(detection.services.every((service) => Value.Check(Service, service))).toBe(true)
  })
})

test('every fixture is tested', () => {
  expect(Object.values(promised).flat().sort()).toEqual(stacks.sort())
})
