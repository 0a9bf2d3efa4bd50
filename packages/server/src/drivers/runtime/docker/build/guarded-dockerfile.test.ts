import { describe, expect, test } from 'vitest'
import { type DockerfileGuard, guardDockerfile, refuseTrigger } from './guarded-dockerfile.ts'

const requested: string[] = []
const guard: DockerfileGuard = {
  buildArguments: {},
  cacheOwner: 'prj_own',
  supportsHeredocs: true,
  platform: 'linux/amd64',
  findImage: async (image) => {
    requested.push(image)
    if (image.startsWith('berth-')) throw new Error(`${image} is not for this project`)
    return `here/${image}`
  },
}
const validate = async (text: string, changes: Partial<DockerfileGuard> = {}) => {
  requested.length = 0
  return guardDockerfile(text, { ...guard, ...changes })
}

test('an ordinary Dockerfile is unchanged except for its image names', async () => {
  const text = [
    '# syntax=docker/dockerfile:1',
    'ARG VERSION=24',
    'FROM node:24 AS build',
    'WORKDIR /app',
    'COPY package*.json ./',
    'RUN npm ci && \\',
    '    # why',
    '    npm run build',
    'ADD . $APP_HOME/',
    '',
    'FROM nginx:1',
    'COPY --from=build --chown=1:1 /app/dist /www',
    'COPY --from=0 /app/x /x',
    'CMD ["nginx", "-g", "daemon off;"]',
  ].join('\n')
  expect(await validate(text)).toEqual({ text, added: [], hasHeredocs: false, platformArguments: {} })
  expect((await validate(`ARG V=24\nFROM "node:\${V}"-slim as Build\n`)).text).toBe('ARG V=24\nFROM node:24-slim AS Build\n')
  expect((await validate('ARG V=24\nFROM node:$V', { buildArguments: { V: '22' } })).text).toBe('ARG V=24\nFROM node:22')
})

describe('platforms', () => {
  test('the platform of the build is removed, and its build arguments are set on demand', async () => {
    const text = 'FROM --platform=$BUILDPLATFORM a AS b\nARG TARGETARCH\nARG TARGETOS=other\nFROM --platform=linux/amd64 c\n'
    const verdict = await validate(text)
    expect(verdict.text).toBe('FROM a AS b\nARG TARGETARCH\nARG TARGETOS=other\nFROM c\n')
    expect(verdict.platformArguments).toEqual({ TARGETARCH: 'amd64' })
    expect((await validate(`FROM --platform=\${TARGETPLATFORM} a`, { platform: 'linux/arm64' })).text).toBe('FROM a')
    expect((await validate('FROM --platform=linux/arm64/v8 a', { platform: 'linux/arm64' })).text).toBe('FROM a')
  })

  test('another platform is kept, and one that is unknown before the build is refused', async () => {
    expect((await validate('ARG P=linux/s390x\nFROM --platform=$P a')).text).toBe(
      'ARG P=linux/s390x\nFROM --platform=linux/s390x a',
    )
    await expect(validate('FROM --platform=$NOTHING a')).rejects.toThrow('is not known before the build')
  })
})

test('the error for an SSH mount names the alternative', async () => {
  await expect(validate('FROM a\nRUN --mount=type=ssh x')).rejects.toThrow('--mount=type=secret')
})

test('a build argument cannot select another frontend', async () => {
  await expect(validate('FROM a', { buildArguments: { BUILDKIT_SYNTAX: 'evil/reader' } })).rejects.toThrow('BUILDKIT_SYNTAX')
})

describe('images', () => {
  test.each([
    'FROM a\nCOPY --from=berth-x/prj_other:dep /app /app',
    'FROM a\nCOPY \\\n --from=berth-x/prj_other:dep \\\n /app /app',
    'FROM a\n\tcopy --from=berth-x/prj_other:dep /app /app',
    'FROM a\nRUN --mount=type=bind,from=berth-x/prj_other:dep,target=/y cat /y/secret',
    'FROM a\nRUN --mount=from=berth-x/prj_other:dep,target=/y cat /y/secret',
    '# escape=`\nFROM a\nCOPY `\n --from=berth-x/prj_other:dep /app /app',
    'FROM a AS b\nCOPY --from=berth-x/prj_other:dep /app /app\nFROM c AS berth-x/prj_other:dep',
  ])('an image named outside FROM is checked: %j', async (text) => {
    await expect(validate(text)).rejects.toThrow(/is not for this project|is not a valid FROM/)
  })

  test('an image gets its local name; stages do not', async () => {
    expect((await validate('FROM a AS x\nCOPY --from=nginx:1 /x /\nCOPY --from=X / /')).text).toBe(
      'FROM a AS x\nCOPY --from=here/nginx:1 /x /\nCOPY --from=X / /',
    )
    expect(requested).toEqual(['nginx:1'])
    await validate('FROM a\nCOPY --from=7 / /')
    expect(requested).toEqual(['7'])
  })

  test.each([
    'FROM $UNKNOWN',
    'FROM a\nCOPY --from=$X / /',
    'FROM a\nCOPY --fr\\om=x / /',
    'FROM a\nCOPY "--from=x" / /\nRUN --mount="type=cache" x',
    'FROM a\nRUN --mount=type=bind,type=cache,id=all,target=/c x',
    'FROM a\nRUN --mount=type=new,target=/c x',
    'FROM a\nRUN --network=host x',
    'FROM a\nRUN --security=insecure x',
    '# syntax=evil.example/frontend\nFROM a',
    '# a comment\n# syntax = evil/frontend:1\nFROM a',
    '# x\n# escape=`\nFROM a',
    'FROM a\nRUN echo \\\\\nADD x /',
    'FROM a\nFETCH x',
    '\u0085ADD x y',
    '// syntax=evil\nFROM a',
    'FROM a\nONBUILD COPY --from=b / /\nFROM 0',
    'FROM a\nONBUILD ADD http://127.0.0.1/ /x',
  ])('an image that cannot be checked before the build is refused: %j', async (text) => {
    await expect(validate(text)).rejects.toThrow(/^(?!.*not for this project)/)
    await expect(validate(text)).rejects.toHaveProperty('name', 'DockerfileRefused')
  })

  test('the id of a cache mount is prefixed with the project', async () => {
    expect((await validate('FROM a\nRUN --mount=type=cache,target=/root/.npm npm ci')).text).toBe(
      'FROM a\nRUN --mount=type=cache,target=/root/.npm,id=prj_own//root/.npm npm ci',
    )
    expect((await validate('FROM a\nRUN --mount=id=prj_other/x,type=cache,dst=/c,sharing=locked y')).text).toBe(
      'FROM a\nRUN --mount=type=cache,dst=/c,sharing=locked,id=prj_own/prj_other/x y',
    )
  })
})

describe('addresses', () => {
  test.each([
    ['ADD https://example.com/a.tgz /opt/', ''],
    ['ADD "https://example.com/a.tgz" /opt/', ''],
    ['ADD ht\\tps://example.com/a.tgz /opt/', ''],
    ['ADD ["https://example.com/a.tgz", "/opt/"]', ''],
    [`ARG H=example.com\nENV U=https://$H\nADD \${U}/a.tgz /opt/`, 'ARG H=example.com\nENV U=https://$H\n'],
    [`ADD --checksum=sha256:${'0'.repeat(64)} https://example.com/a.tgz /opt/`, ''],
  ])('%j is downloaded by the control plane and copied', async (line, before) => {
    const { text, added } = await validate(`FROM a\n${line}`)
    expect(text).toBe(`FROM a\n${before}COPY [".berth-added/0/a.tgz","/opt/"]`)
    expect(added).toMatchObject([{ url: 'https://example.com/a.tgz', path: '.berth-added/0/a.tgz' }])
  })

  test.each([
    'ADD $FROM_THE_BASE /x',
    'ADD git@example.com:a/b.git /x',
    'ADD github.com/a/b /x',
    'ADD git://example.com/a /x',
    'ADD a https://example.com/b /x/',
    'ADD https://example.com/ /x',
    'ADD https://example.com/.. /x',
  ])('%s is refused', async (line) => {
    await expect(validate(`FROM a\n${line}`)).rejects.toHaveProperty('name', 'DockerfileRefused')
  })

  test('substituted values are written into the file, so that variables of the image have no effect', async () => {
    expect((await validate('FROM a\nARG X=app.jar\nADD $X /app/')).text).toBe('FROM a\nARG X=app.jar\nADD ["app.jar","/app/"]')
  })
})

test('here-documents are kept if the builder supports them, and parsed as instructions otherwise', async () => {
  const text = 'FROM a\nRUN <<EOF\nADD http://127.0.0.1/x /\nEOF\nCOPY <<"A" <<-B /x/\nFROM q\nA\n\tB\nUSER 1'
  expect(await validate(text)).toMatchObject({ text, added: [], hasHeredocs: true })
  await expect(validate(text, { supportsHeredocs: false })).rejects.toThrow(/syntax=docker\/dockerfile/)
  const hidden = 'FROM a\nRUN echo "x <<EOF"\nADD http://127.0.0.1/x /\nEOF'
  await expect(validate(hidden)).rejects.toThrow(/not an instruction/)
})

test('ONBUILD instructions that use resources outside the project are refused', () => {
  for (const honest of ['COPY . /app', 'RUN npm ci', 'ADD src /app', 'USER 1']) expect(() => refuseTrigger(honest)).not.toThrow()
  for (const trigger of [
    'COPY --from=berth-x/y:z / /',
    'ADD http://169.254.169.254/ /x',
    'ADD $X /x',
    'RUN --mount=from=x,target=/y ls',
  ])
    expect(() => refuseTrigger(trigger)).toThrow(/outside/)
})

describe('a Dockerfile made to be slow to parse', () => {
  const size = 200_000
  // Each of these took minutes or all memory before files were parsed in one pass.
  test.each([
    ['blanks in a line', `FROM a\nRUN x${' '.repeat(size)}x\n`],
    ['blanks before a line', `FROM a\n${'\t'.repeat(size)}RUN x\n`],
    ['blanks in a directive', `# a = ${'x '.repeat(size / 2)}\nFROM a\n`],
    ['blanks in a mount', `FROM a\nRUN --mount=target=/x,id=\u2003${'\u2003'.repeat(size)}b y\n`],
    ['blanks in the name of a mount', `FROM a\nRUN --mount=target=/x,a${'\u00a0'.repeat(size)}b y\n`],
    ['a value without end', `FROM a\nARG A=xx\n${'ENV A=$A$A\n'.repeat(60)}RUN x\n`],
  ])('is parsed in linear time: %s', async (_, text) => {
    expect((await validate(text)).text.length).toBeGreaterThan(0)
  })

  test('with endlessly growing values is refused', async () => {
    await expect(validate(`FROM a\nARG A=xx\n${'ENV A=$A$A\n'.repeat(60)}ADD $A /x\n`)).rejects.toThrow(
      'cannot be resolved before the build',
    )
    await expect(validate(`ARG A=xx\n${'ARG A=$A$A\n'.repeat(60)}FROM $A\n`)).rejects.toThrow(
      'cannot be resolved before the build',
    )
  })

  test('is refused above 256 KiB or 2,000 instructions', async () => {
    await expect(validate(`FROM a\n#${'x'.repeat(256 * 1024)}`)).rejects.toThrow('larger than 256 KiB')
    await expect(validate(`FROM a\n${'RUN x\n'.repeat(2_000)}`)).rejects.toThrow('more than 2000 instructions')
  })
})
