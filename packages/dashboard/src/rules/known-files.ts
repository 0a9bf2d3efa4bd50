const descriptions: Record<string, string> = {
  Dockerfile: 'is built as an image',
  'compose.yaml': 'becomes a project with several services',
  'compose.yml': 'becomes a project with several services',
  'docker-compose.yml': 'becomes a project with several services',
  'docker-compose.yaml': 'becomes a project with several services',
  'package.json': 'is installed, built and started by its scripts',
  'requirements.txt': 'is installed with pip',
  'pyproject.toml': 'is a Python project',
  Procfile: 'defines the start command',
  'go.mod': 'is a Go program',
  'Cargo.toml': 'is a Rust program',
  Gemfile: 'is a Ruby program',
  'composer.json': 'is a PHP program',
  'index.html': 'is served as a static page',
}

/** The files in a repository's root that determine the build. This is a preview: the build itself detects more. */
export const knownFiles = (names: readonly string[]): { file: string; description: string }[] =>
  Object.entries(descriptions).flatMap(([file, description]) => (names.includes(file) ? [{ file, description }] : []))
