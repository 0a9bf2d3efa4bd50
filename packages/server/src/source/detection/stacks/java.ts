import { quoted } from '../commands.ts'
import type { Evidence } from '../detection.ts'
import { anyOf, dependency, manifest } from '../signs.ts'
import type { App, Plan, Stack } from '../stack.ts'

export const javaFrameworks: readonly Stack[] = [
  {
    framework: 'quarkus',
    when: dependency(
      'java',
      'io.quarkus:quarkus-maven-plugin',
      'io.quarkus.platform:quarkus-maven-plugin',
      'io.quarkus',
      'io.quarkus:quarkus-rest',
      'io.quarkus:quarkus-resteasy',
      'io.quarkus:quarkus-arc',
    ),
    plan: (app) =>
      javaPlan(app, {
        gradleTask: 'quarkusBuild',
        jar: (output) => `${output}/quarkus-app/quarkus-run.jar`,
        option: '-Dquarkus.http.port=$PORT -Dquarkus.http.host=0.0.0.0',
      }),
  },
  {
    framework: 'spring-boot',
    when: anyOf(
      dependency('java', 'org.springframework.boot:spring-boot-starter-parent', 'org.springframework.boot'),
      dependency(
        'java',
        'org.springframework.boot:spring-boot-maven-plugin',
        'org.springframework.boot:spring-boot-starter-web',
        'org.springframework.boot:spring-boot-starter',
      ),
    ),
    plan: (app) =>
      javaPlan(app, {
        gradleTask: 'bootJar',
        jar: (output, artifact) => `${output}/${artifact}.jar`,
        option: '-Dserver.port=$PORT',
      }),
  },
]

export const plainJava: readonly Stack[] = [
  {
    framework: 'java',
    when: manifest('java', 'a project in Java'),
    plan: plainPlan,
  },
]

/**
 * Plan of a plain Java program. Gradle's jar contains only the project's own classes; its application plugin installs the
 * libraries too.
 */
function plainPlan(app: App): Plan {
  const plan = javaPlan(app, { gradleTask: 'build', jar: (output, artifact) => `${output}/${artifact}.jar`, option: '' })
  const { application, file } = app.manifests.java!
  if (application === null) return plan
  return {
    ...plan,
    buildCommand: plan.buildCommand!.replace(/ build -x test$/, ' installDist'),
    startCommand: quoted(`./build/install/${application}/bin/${application}`),
    evidence: [...(plan.evidence ?? []), { file: app.folder.full(file), says: 'is a Gradle application' }],
  }
}

interface JavaRow {
  gradleTask: string
  /** The path of the jar; `output` is the output folder of the build tool. */
  jar: (output: string, artifact: string) => string
  option: string
}

function javaPlan({ folder, manifests }: App, row: JavaRow): Plan {
  const { tool, artifact, language, version } = manifests.java!
  const wrapper = tool === 'maven' ? 'mvnw' : 'gradlew'
  const hasWrapper = folder.has(wrapper)
  const program = hasWrapper ? `./${wrapper}` : tool === 'maven' ? 'mvn' : 'gradle'
  // Gradle writes plain jars to build/libs, and Quarkus to build/quarkus-app.
  const output = tool === 'maven' ? 'target' : row.gradleTask === 'quarkusBuild' ? 'build' : 'build/libs'
  const evidence: Evidence[] = hasWrapper
    ? [{ file: folder.full(wrapper), says: `the project contains the ${tool} wrapper` }]
    : []
  return {
    type: 'app',
    ecosystem: 'java',
    language,
    packageManager: tool,
    buildCommand: tool === 'maven' ? `${program} -B -DskipTests package` : `${program} ${row.gradleTask} -x test`,
    startCommand: ['java', row.option, '-jar', quoted(row.jar(output, artifact))].filter(Boolean).join(' '),
    port: 8080,
    evidence,
    warnings: version === null && tool === 'maven' ? ['the version is not in pom.xml; the name of the jar is assumed'] : [],
  }
}
