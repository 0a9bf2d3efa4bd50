import { templateProblems } from '../../packages/server/src/modules/catalogue/check-template.ts'
import { loadTemplates, templatesFolder } from '../../packages/server/src/modules/catalogue/load-templates.ts'

/** Ends the build if a template of the catalogue is invalid. */
export async function checkTemplates() {
  for (const template of await loadTemplates(templatesFolder())) {
    const [problem] = templateProblems(template)
    if (problem) throw new Error(`the template ${template.id}: ${problem}`)
  }
}
