import { quoted } from './commands.ts'

/** Watchers and development servers, by the start of their command; a project must not be served by them. */
const developmentServer = new RegExp(
  `^(?:npx |cross-env |\\w{1,60}=\\S{0,200} )*(?:${[
    'vite(?: (?:dev|serve|preview|--).*)?$',
    'nux[ti](?: dev.*)?$',
    'next(?: dev)?$',
    'next dev',
    'astro (?:dev|preview)',
    'ng (?:serve|s)',
    'nx (?:run \\S{1,100}:)?(?:serve|dev|start)',
    'turbo (?:run )?(?:dev|serve|start)',
    'lerna run',
    'react-scripts start',
    'craco start',
    'vue-cli-service serve',
    'gatsby develop',
    'gridsome develop',
    'docusaurus[ -]start',
    'brunch (?:watch|w)',
    'polymer serve',
    'sapper dev',
    'ionic serve',
    'blitz dev',
    '(?:strapi|medusa) develop',
    '(?:sanity|keystone|payload|rw|redwood) dev',
    'vitepress dev',
    'vuepress (?:dev|serve)',
    'eleventy (?:--\\S+ )*--(?:serve|watch)',
    'hexo (?:server|s)',
    'ember (?:serve|server|s)',
    '(?:umi|max) dev',
    'stencil build .*--(?:dev|watch|serve)',
    'preact watch',
    'quasar dev',
    'rsbuild dev',
    'rspack (?:serve|dev)',
    'farm(?: start)?$',
    'remix (?:vite:)?dev',
    'react-router dev',
    'vinxi dev',
    'nitro(?:pack)? dev',
    'nest start(?!:prod)',
    'expo start',
    'storybook dev',
    'start-storybook',
    'wrangler (?:dev|pages dev)',
    'vercel dev',
    'netlify dev',
    'nodemon',
    'ts-node-dev',
    'node(?: \\S+)* --watch',
    'bun (?:run )?--(?:hot|watch)',
    'webpack serve',
    'webpack-dev-server',
    'parcel(?! build)',
    'snowpack dev',
    'live-server',
    'browser-sync',
    'tsx watch',
    'deno run(?: \\S+)* --watch',
  ].join('|')})(?:\\s|$)`,
)

export const isDevelopmentServer = (command: string): boolean => developmentServer.test(command)

/**
 * The program that a watcher runs, if Node can run it directly (`nodemon server.js`), else `null`. A word that starts with a dash
 * is an option, never a value: each word has one reading, so the match takes linear time.
 */
export function watchedProgram(command: string): string | null {
  const found =
    /^(?:npx )?(?:nodemon|node --watch)(?: --?(?:watch|ext|e|w|q|quiet|inspect)(?:[ =](?!-)[\w./,*-]{1,100})?)* ([\w./-]{1,200}\.[cm]?js|[\w./-]{1,200})$/.exec(
      command.trim(),
    )?.[1]
  return found && !found.startsWith('-') && !/\.[cm]?tsx?$/.test(found) ? `node ${quoted(found)}` : null
}

/**
 * The program that nodemon runs with a compiler in memory: `babel-node src/index.js` of `nodemon --exec babel-node src/index.js`, else
 * `null`. Node alone cannot run its files.
 */
export function executedProgram(command: string): string | null {
  const found =
    /^(?:npx )?nodemon(?: --?(?:watch|ext|e|w|q|quiet)(?:[ =](?!-)[\w./,*-]{1,100})?)* (?:--exec|-x)[ =]["']?(babel-node|ts-node|ts-node-esm|tsx) ([\w./-]{1,200})["']?$/.exec(
      command.trim(),
    )
  return found?.[2] && !found[2].startsWith('-') ? `${found[1]} ${quoted(found[2])}` : null
}
