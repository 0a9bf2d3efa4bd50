/** How to build a project, from stack detection and the project's settings. */
export interface BuildPlan {
  /** `dockerfile`: the project's own. `static`: the artifact is the output folder. `none`: no build, the artifact is the source. */
  kind: 'stack' | 'dockerfile' | 'static' | 'none'
  language: string | null
  framework: string | null
  packageManager: string | null
  /** Version per language, such as `{ node: '22' }`. */
  runtimeVersion: Record<string, string>
  installCommand: string | null
  buildCommand: string | null
  startCommand: string | null
  /** Output folder of a static build, relative to the root directory. */
  outputDirectory: string | null
  /** Path in the source folder. '' is the source folder itself. */
  rootDirectory: string
  dockerfilePath: string | null
  /** Dockerfile content to use instead of a file of the project. The build context is the root directory. */
  dockerfileText?: string
  dockerTarget: string | null
  buildArguments: Record<string, string>
  /** Base image to use instead of the stack's own. */
  buildImage: string | null
  port: number
}

/** A plan with every field unset. Plans are made by overriding fields of it. */
export const emptyPlan: BuildPlan = {
  kind: 'stack',
  language: null,
  framework: null,
  packageManager: null,
  runtimeVersion: {},
  installCommand: null,
  buildCommand: null,
  startCommand: null,
  outputDirectory: null,
  rootDirectory: '',
  dockerfilePath: null,
  dockerTarget: null,
  buildArguments: {},
  buildImage: null,
  port: 0,
}
