/**
 * JSON exactly as Postgres wrote it. A stored payload or result is handed on as text: it is never parsed and
 * written again here, so a number keeps its digits and no nesting is too deep to be answered.
 */
export class JsonText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}
