import { describe, expect, test } from "vitest";
import { mergeValues, renderChart } from "./render-chart.ts";

const METADATA = "name: drover\nversion: 0.1.0\nappVersion: '1.2'\n";
const RELEASE = { name: "one", namespace: "two" };

const render = (template: string, values: object = {}, more: Readonly<Record<string, string>> = {}) =>
  renderChart({ metadata: METADATA, values: "{}", templates: { "a.yaml": template, ...more } }, RELEASE, {
    ...values,
  }).get("a.yaml");

/** Right-hand sides by the documentation of Go's `text/template`, of Sprig and of Helm. */
describe("what our templates use means what it means in Helm", () => {
  const values = { n: 3, yes: true, no: false, text: 'a "b"', none: "", list: ["x", "y"], map: { b: "2", a: "yes" } };
  test.for([
    ["{{ .Values.n }}{{.Values.yes}}", "3true"],
    ["{{ .Release.Name }}/{{ .Release.Namespace }} {{ .Chart.AppVersion | quote }}", 'one/two "1.2"'],
    ["a\n  {{- .Values.n }}\n b", "a3\n b"],
    ["a {{ .Values.n -}} \n b", "a 3b"],
    ["a\n{{- /* said {{ nowhere */ -}}\nb", "ab"],
    ["{{ .Values.text | quote }}", '"a \\"b\\""'],
    ['{{ .Values.none | default "d" }}{{ .Values.n | default 4 }}', "d3"],
    ["{{ if .Values.none }}a{{ else }}b{{ end }}{{ if .Values.list }}c{{ end }}{{ if .Values.no }}d{{ end }}", "bc"],
    ["{{ range .Values.list }}{{ . }}{{ $.Values.n }};{{ end }}", "x3;y3;"],
    ["{{ range $k, $v := .Values.map }}{{ $k }}={{ $v }};{{ end }}", "a=yes;b=2;"],
    ["m:\n  {{- toYaml .Values.map | nindent 2 }}", 'm:\n  a: "yes"\n  b: "2"'],
    ["m: {{ toYaml .Release.none }}", undefined],
    ['{{ include "both" . | nindent 2 }}', "\n  one\n  3"],
  ] as const)("%s", ([template, text]) => {
    const more = { "_b.tpl": '{{ define "both" }}{{ .Release.Name }}\n{{ .Values.n }}{{ end }}' };
    if (text === undefined) expect(() => render(template, values, more)).toThrow("there is no none");
    else expect(render(template, values, more)).toBe(text);
  });
});

describe("what it does not know is an error", () => {
  test.for([
    ["{{ .Values.gone }}", "there is no gone"],
    ["{{ .Values.map }}", "not to be printed"],
    ["{{ .Values.large }}", "not to be printed"],
    ["{{ .Values.foreign | quote }}", "Go might quote it"],
    ["{{ upper .Values.n }}", "upper"],
    ["{{ toString .Values.n }}", "toString"],
    ["{{ with .Values.n }}", "not of our templates: with"],
    ["{{ with .Values.n }}{{ end }}", "end of nothing"],
    ['{{ template "x" . }}', "template"],
    ["{{ if (eq .Values.n 3) }}{{ end }}", "not of our templates"],
    ["{{ if .Values.n }}{{ else if .Values.n }}{{ end }}", "not of our templates"],
    ["{{ $x := .Values.n }}", "not of our templates"],
    ["{{ $x }}", "there is no $x"],
    ["{{ .Values.n | 3 }}", "no value and no function"],
    ["{{ .Values.n .Values.n }}", "no value and no function"],
    ["{{ quote .Values.n .Values.n }}", "quote takes 1"],
    ['{{ include "gone" . }}', "nothing is defined as gone"],
    ["{{ range .Values.n }}{{ end }}", "a range over"],
    ["{{ if .Values.n }}", "an end was to be"],
    ["{{ range .Values.list }}{{ else }}{{ end }}", "an end was to be"],
    ["{{ end }}", "end of nothing"],
    ["{{ .Values.n", "braces"],
    ["{{ .Values..n }}", "is no path"],
  ] as const)("%s", ([template, complaint]) => {
    const values = { n: 3, large: 1e9, foreign: "é", list: [], map: {} };
    expect(() => render(template, values)).toThrow(complaint);
  });
});

test("values over the chart's replace what they name, and a null is refused", () => {
  expect(mergeValues({ a: { b: 1, c: [1, 2] }, d: 4 }, { a: { c: [3] } })).toEqual({ a: { b: 1, c: [3] }, d: 4 });
  expect(() => mergeValues({ a: 1 }, { a: null })).toThrow("null");
});
