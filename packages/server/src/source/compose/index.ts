/** A model of Compose files: supported settings are read, the rest is refused. */
export { splitWords } from './command-words.ts'
export { readEnvFile } from './env-file.ts'
export { findLinksOutside } from './links-outside.ts'
export { lineOf, type SourceLine } from './location.ts'
export type * from './model.ts'
export { toProjectServices } from './project-services.ts'
export { type ReadComposeOptions, readCompose } from './read-compose.ts'
export { readStack, type StackFiles, type StackReading } from './read-stack.ts'
