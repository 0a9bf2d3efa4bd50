import { quoted } from '../commands.ts'
import { manifest } from '../signs.ts'
import type { App, Plan, Sign, Stack } from '../stack.ts'

const sdk =
  (name: string): Sign =>
  ({ folder, manifests: { dotnet } }) =>
    dotnet?.sdk === name ? [{ file: folder.full(dotnet.file), says: `uses the SDK ${name}` }] : null

export const dotnet: readonly Stack[] = [
  {
    framework: 'aspnetcore',
    when: sdk('Microsoft.NET.Sdk.Web'),
    plan: (app) => ({ ...published(app, ' --urls http://0.0.0.0:$PORT'), port: 8080 }),
  },
  {
    framework: 'blazor',
    when: sdk('Microsoft.NET.Sdk.BlazorWebAssembly'),
    plan: (app) => ({ ...published(app, ''), type: 'static', startCommand: null, outputDirectory: 'out/wwwroot' }),
  },
  {
    framework: 'dotnet',
    when: manifest('dotnet', 'a project of .NET'),
    plan: (app) => ({ ...published(app, ''), type: 'worker' }),
  },
]

function published({ manifests }: App, options: string): Plan {
  const { file, assembly, language } = manifests.dotnet!
  return {
    type: 'app',
    ecosystem: 'dotnet',
    language,
    packageManager: 'nuget',
    installCommand: `dotnet restore ${quoted(file)}`,
    buildCommand: `dotnet publish ${quoted(file)} -c Release -o out`,
    startCommand: `dotnet ${quoted(`out/${assembly}.dll`)}${options}`,
  }
}
