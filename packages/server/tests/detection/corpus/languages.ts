import { expect } from 'vitest'
import type { CorpusCase } from './corpus.ts'

const main = 'package main\n\nfunc main() {}\n'

/** Other languages. */
export const languages: readonly CorpusCase[] = [
  {
    name: 'go',
    files: { 'go.mod': 'module example.test/a\n\ngo 1.24\n', 'main.go': main },
    is: { framework: 'go', buildCommand: 'go build -o bin/app .', startCommand: './bin/app', port: 8080 },
  },
  {
    name: 'go that listens on a port of its own',
    files: {
      'go.mod': 'module example.test/a\n',
      'main.go': 'package main\n\nfunc main() {\n\tlog.Fatal(app.Listen(":3000"))\n}\n',
    },
    is: { framework: 'go', port: 3000, warnings: [expect.stringMatching(/^the port 3000 is fixed in main\.go/)] },
  },
  {
    name: 'go by its Procfile, named after its module',
    files: { 'go.mod': 'module example.test/tide\n', 'main.go': main, Procfile: 'web: bin/tide -v\n' },
    is: { buildCommand: 'go build -o bin/tide .', startCommand: './bin/tide -v' },
  },
  {
    name: 'go by its Procfile, without a path',
    files: { 'go.mod': 'module example.test/tide/v2\n', 'main.go': main, Procfile: 'web: tide\n' },
    is: { buildCommand: 'go build -o bin/tide .', startCommand: './bin/tide' },
  },
  {
    name: 'go by its Procfile, which names one program of several',
    files: {
      'go.mod': 'module example.test/a\n',
      'cmd/api/main.go': main,
      'cmd/feed/main.go': main,
      Procfile: 'web: feed --public\nworker: api\n',
    },
    is: { buildCommand: 'go build -o bin/feed ./cmd/feed', startCommand: './bin/feed --public' },
  },
  {
    name: 'go by its Procfile, which starts a script',
    files: { 'go.mod': 'module example.test/a\n', 'main.go': main, Procfile: 'web: bin/serve\n', 'bin/serve': '' },
    is: { buildCommand: 'go build -o bin/app .', startCommand: 'bin/serve' },
  },
  {
    name: 'go below cmd',
    files: { 'go.mod': 'module example.test/a\n', 'cmd/server/main.go': main },
    is: { framework: 'go', buildCommand: 'go build -o bin/app ./cmd/server' },
  },
  {
    name: 'a bare file of Go',
    files: { 'hello.go': main },
    is: { framework: 'go', type: 'app', buildCommand: 'go build -o bin/app hello.go', startCommand: './bin/app' },
  },
  {
    name: 'bare files of Go with a test',
    files: { 'main.go': main, 'util.go': 'package main', 'main_test.go': 'package main' },
    is: { framework: 'go', buildCommand: 'go build -o bin/app main.go util.go' },
  },
  {
    name: 'rust',
    files: {
      'Cargo.toml': '[package]\nname = "api"\n\n[dependencies]\naxum = "0.8"\n',
      'Cargo.lock': '',
      'src/main.rs': 'fn main() {}',
    },
    is: { framework: 'rust', startCommand: './target/release/api', port: 3000 },
  },
  {
    name: 'flask',
    files: { 'requirements.txt': 'flask\ngunicorn\n', 'app.py': 'app = Flask(__name__)' },
    is: { framework: 'flask', startCommand: 'gunicorn app:app --bind 0.0.0.0:$PORT' },
  },
  {
    name: 'fastapi',
    files: { 'requirements.txt': 'fastapi\nuvicorn\n', 'main.py': 'app = FastAPI()' },
    is: { framework: 'fastapi', startCommand: 'uvicorn main:app --host 0.0.0.0 --port $PORT' },
  },
  {
    name: 'fastapi below app',
    files: { 'requirements.txt': 'fastapi\nuvicorn', 'app/__init__.py': '', 'app/main.py': 'api = FastAPI()' },
    is: { framework: 'fastapi', startCommand: 'uvicorn app.main:api --host 0.0.0.0 --port $PORT' },
  },
  {
    name: 'django',
    files: {
      'requirements.txt': 'Django\ngunicorn\n',
      'manage.py': '',
      'site1/wsgi.py': 'application = 1',
      'site1/settings.py': '',
    },
    is: { framework: 'django', startCommand: 'gunicorn site1.wsgi:application --bind 0.0.0.0:$PORT' },
  },
  {
    name: 'python by its Procfile and requirements',
    files: { 'requirements.txt': 'bottle\n', Procfile: 'web: python hello.py\n', 'hello.py': '' },
    is: { language: 'python', type: 'app', startCommand: 'python hello.py' },
  },
  {
    name: 'python by its Procfile alone',
    files: { Procfile: 'web: python3 hello.py\n', 'hello.py': '' },
    is: { framework: 'procfile', language: 'python', type: 'app', startCommand: 'python3 hello.py', port: 8000 },
  },
  {
    name: 'gunicorn by its Procfile alone',
    files: { Procfile: 'web: gunicorn site:app\nworker: python w.py\n', 'site.py': '' },
    is: { framework: 'procfile', language: 'python', startCommand: 'gunicorn site:app' },
  },
  {
    name: 'a program of its own by its Procfile',
    files: { Procfile: 'web: ./serve\n', serve: '' },
    is: { framework: 'procfile', language: null, startCommand: './serve' },
  },
  {
    name: 'poetry',
    files: {
      'pyproject.toml': '[tool.poetry]\nname = "x"\n[tool.poetry.dependencies]\npython = "^3.12"\nflask = "*"\n',
      'poetry.lock': '',
      'app.py': 'app = Flask(__name__)',
    },
    is: { packageManager: 'poetry', framework: 'flask' },
  },
  {
    name: 'uv',
    files: {
      'pyproject.toml': '[project]\nname = "x"\ndependencies = ["fastapi", "uvicorn"]\n',
      'uv.lock': '',
      'main.py': 'app = FastAPI()',
    },
    is: { packageManager: 'uv', framework: 'fastapi' },
  },
  {
    name: 'rails',
    files: { Gemfile: "gem 'rails'\ngem 'puma'", 'Gemfile.lock': '', 'config.ru': '' },
    is: { framework: 'rails', startCommand: 'bundle exec rails server -b 0.0.0.0' },
  },
  {
    name: 'sinatra',
    files: { Gemfile: "gem 'sinatra'", 'Gemfile.lock': '', 'app.rb': '' },
    is: { framework: 'sinatra', language: 'ruby' },
  },
  {
    name: 'laravel',
    files: { 'composer.json': { require: { 'laravel/framework': '^12' } }, 'composer.lock': {}, artisan: '' },
    is: { framework: 'laravel', language: 'php' },
  },
  { name: 'plain PHP', files: { 'index.php': '<?php echo 1;' }, is: { framework: 'php', startCommand: 'php -S 0.0.0.0:$PORT' } },
  {
    name: 'spring boot',
    files: {
      'pom.xml':
        '<project><parent><artifactId>spring-boot-starter-parent</artifactId></parent><artifactId>demo</artifactId><version>1</version><dependencies><dependency><groupId>org.springframework.boot</groupId><artifactId>spring-boot-starter-web</artifactId></dependency></dependencies></project>',
    },
    is: { framework: 'spring-boot', language: 'java' },
  },
  {
    name: 'an application of Gradle',
    files: {
      'build.gradle': "plugins {\n  id 'java'\n  id 'application'\n}\napplication {\n  mainClass = 'a.Main'\n}\n",
      'settings.gradle': "rootProject.name = 'tide'\n",
      gradlew: '',
    },
    is: { framework: 'java', buildCommand: './gradlew installDist', startCommand: './build/install/tide/bin/tide', port: 8080 },
  },
  {
    name: 'ktor',
    files: {
      'build.gradle.kts':
        'plugins {\n  kotlin("jvm") version "2.3.0"\n  id("io.ktor.plugin") version "3.4.0"\n}\nversion = "0.0.1"\n',
      'settings.gradle.kts': 'rootProject.name = "tide"\n',
      'src/main/kotlin/App.kt': '',
    },
    is: { language: 'kotlin', buildCommand: 'gradle installDist', startCommand: './build/install/tide/bin/tide' },
  },
  {
    name: 'a jar of Gradle',
    files: { 'build.gradle': "plugins {\n  id 'java'\n}\nversion = '1'\n", 'settings.gradle': "rootProject.name = 'tide'\n" },
    is: { buildCommand: 'gradle build -x test', startCommand: 'java -jar build/libs/tide-1.jar' },
  },
  {
    name: 'dotnet',
    files: {
      'web.csproj':
        '<Project Sdk="Microsoft.NET.Sdk.Web"><PropertyGroup><TargetFramework>net9.0</TargetFramework></PropertyGroup></Project>',
      'Program.cs': '',
    },
    is: { language: 'csharp', type: 'app' },
  },
  { name: 'a Dockerfile', files: { Dockerfile: 'FROM scratch\nEXPOSE 9000\n' }, is: { framework: 'dockerfile', port: 9000 } },
  {
    name: 'a Dockerfile without EXPOSE, with the port in its command',
    files: { Dockerfile: 'FROM python\nCMD ["python", "-m", "http.server", "8080"]\n' },
    is: { framework: 'dockerfile', port: 8080, warnings: [] },
  },
  {
    name: 'a Dockerfile beside a package',
    files: { Dockerfile: 'FROM node\nEXPOSE 3001\n', 'package.json': { scripts: { start: 'node a.js' } } },
    is: { framework: 'dockerfile', port: 3001 },
  },
  { name: 'nothing', files: { 'README.md': '# x' }, is: { framework: null, startCommand: null } },
]
