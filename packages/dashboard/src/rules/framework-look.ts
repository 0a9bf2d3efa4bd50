/** The drawing of a framework's icon: a shape of its language, its letters and a hue. */
export interface FrameworkLook {
  shape: 'hexagon' | 'circle' | 'square' | 'diamond' | 'page' | 'stack'
  letters: string
  hue: number
}

const node = { shape: 'hexagon', hue: 140 } as const
const python = { shape: 'circle', hue: 210 } as const
const ruby = { shape: 'diamond', hue: 350 } as const
const php = { shape: 'square', hue: 245 } as const
const java = { shape: 'square', hue: 25 } as const
const dotnet = { shape: 'square', hue: 270 } as const
const page = { shape: 'page', hue: 195 } as const

const looks: Record<string, FrameworkLook> = {
  node: { ...node, letters: 'N' },
  express: { ...node, letters: 'Ex' },
  fastify: { ...node, letters: 'Fa' },
  koa: { ...node, letters: 'K' },
  hono: { ...node, letters: 'H', hue: 20 },
  nestjs: { ...node, letters: 'Ne', hue: 345 },
  adonisjs: { ...node, letters: 'Ad', hue: 250 },
  nextjs: { ...node, letters: 'Nx', hue: 220 },
  nuxt: { ...node, letters: 'Nu', hue: 155 },
  nitro: { ...node, letters: 'Ni', hue: 330 },
  remix: { ...node, letters: 'R', hue: 205 },
  'react-router': { ...node, letters: 'RR', hue: 5 },
  'tanstack-start': { ...node, letters: 'TS', hue: 40 },
  sveltekit: { ...node, letters: 'Sv', hue: 15 },
  'solid-start': { ...node, letters: 'So', hue: 215 },
  qwik: { ...node, letters: 'Q', hue: 265 },
  analog: { ...node, letters: 'An', hue: 350 },
  angular: { ...page, letters: 'Ng', hue: 345 },
  'create-react-app': { ...page, letters: 'Re' },
  vite: { ...page, letters: 'Vi', hue: 265 },
  'vue-cli': { ...page, letters: 'Vu', hue: 155 },
  ember: { ...page, letters: 'Em', hue: 15 },
  astro: { ...page, letters: 'As', hue: 285 },
  gatsby: { ...page, letters: 'Ga', hue: 280 },
  static: { ...page, letters: '<>' },
  bun: { ...node, letters: 'B', hue: 30 },
  deno: { ...node, letters: 'De', hue: 180 },
  python: { ...python, letters: 'Py' },
  django: { ...python, letters: 'Dj', hue: 160 },
  flask: { ...python, letters: 'Fl', hue: 190 },
  fastapi: { ...python, letters: 'FA', hue: 170 },
  starlette: { ...python, letters: 'St', hue: 200 },
  ruby: { ...ruby, letters: 'Rb' },
  rails: { ...ruby, letters: 'Ra' },
  sinatra: { ...ruby, letters: 'Si' },
  rack: { ...ruby, letters: 'Rk' },
  php: { ...php, letters: 'PH' },
  laravel: { ...php, letters: 'La', hue: 5 },
  symfony: { ...php, letters: 'Sy', hue: 230 },
  go: { shape: 'circle', letters: 'Go', hue: 190 },
  rust: { shape: 'circle', letters: 'Rs', hue: 25 },
  java: { ...java, letters: 'Ja' },
  'spring-boot': { ...java, letters: 'Sp', hue: 110 },
  quarkus: { ...java, letters: 'Qu', hue: 225 },
  dotnet: { ...dotnet, letters: '.N' },
  aspnetcore: { ...dotnet, letters: 'AN' },
  blazor: { ...dotnet, letters: 'Bl' },
  elixir: { shape: 'diamond', letters: 'Ex', hue: 280 },
  phoenix: { shape: 'diamond', letters: 'Ph', hue: 20 },
  dockerfile: { shape: 'stack', letters: 'D', hue: 205 },
  compose: { shape: 'stack', letters: 'C', hue: 205 },
}

/** The look of a framework. An unknown framework gets its first two letters and a hue of its name; an unknown source gets an ellipsis. */
export function frameworkLook(framework: string | null | undefined, type: string | null | undefined): FrameworkLook {
  const known = framework ? looks[framework] : undefined
  if (known) return known
  if (type === 'services') return { shape: 'stack', letters: '', hue: 205 }
  if (!framework) return { shape: 'square', letters: '…', hue: 210 }
  const letters = `${framework.slice(0, 1).toUpperCase()}${framework.slice(1, 2)}`
  const hue = [...framework].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 360, 7)
  return { shape: type === 'static' ? 'page' : 'square', letters, hue }
}
