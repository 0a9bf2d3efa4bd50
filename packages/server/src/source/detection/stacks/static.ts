import { javascriptTools } from '../javascript-tools.ts'
import { file } from '../signs.ts'
import type { App, Plan, Stack } from '../stack.ts'

/** Static pages without a framework, by folder, the most likely folder first. */
export const staticPages: readonly Stack[] = ['', 'public', 'www', 'site', 'html', 'docs'].map((folder) => ({
  framework: 'static',
  when: file(folder === '' ? 'index.html' : `${folder}/index.html`, 'the first page'),
  plan: (app) => staticPlan(app, folder || '.'),
}))

async function staticPlan(app: App, folder: string): Promise<Plan> {
  const build = app.manifests.npm?.scripts.get('build')
  if (build === undefined) return { type: 'static', language: 'html', outputDirectory: folder }
  const tools = await javascriptTools(app)
  return {
    type: 'static',
    language: 'html',
    packageManager: tools.manager,
    installCommand: tools.install,
    buildCommand: tools.run('build'),
    outputDirectory: 'dist',
    evidence: [...tools.evidence, { file: app.folder.full('package.json'), says: 'the script build creates the pages' }],
    warnings: [...tools.warnings, 'the output folder of the build is not known; dist is assumed'],
  }
}
