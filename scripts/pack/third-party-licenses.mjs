import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../programs.mjs'

/** The license texts of the packages that the bundles may contain: those of the lockfile that are not for development only. */
export function thirdPartyLicenses() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const bundled = Object.entries(packages)
    .filter(([path, { dev, devOptional, link, os }]) => path.includes('node_modules/') && !dev && !devOptional && !link && !os)
    .filter(([path]) => existsSync(join(root, path)))
  const texts = bundled.map(([path, { version, license }]) => {
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
    return `${name} ${version} (${license ?? 'license: see its text'})\n\n${licenseText(join(root, path))}`
  })
  return `Berth contains code of these packages.\n\n${texts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`
}

function licenseText(folder) {
  const file = readdirSync(folder).find((name) => /^(?:licen[sc]e|copying)(?:[.-]|$)/i.test(name))
  return file ? readFileSync(join(folder, file), 'utf8').trim() : 'The package has no license file.'
}
