import { dig, recordOf } from '../manifests/values.ts'
import { excluded, type HintReader } from './hints.ts'

const file = 'app.json'

/** Reads app.json. Other tools use that name too: Heroku's is recognised by its own fields. */
export const readHeroku: HintReader = async (folder) => {
  const json = recordOf(await folder.json(file))
  const isHeroku = ['buildpacks', 'formation', 'addons', 'stack'].some((key) => key in json)
  if (!isHeroku) return null
  return {
    file,
    warnings: [
      ...(Array.isArray(json.addons) && json.addons.length > 0 ? [excluded(file, 'add-ons are')] : []),
      ...(dig(json, 'scripts', 'postdeploy') === undefined ? [] : [excluded(file, 'the script postdeploy is')]),
    ],
  }
}
