/** Languages that ORDER BY … COLLATE may name. */
const LANGUAGES = new Set(
  (
    'af ar as az be bg bn bo bs ca ceb chr cs cy da de dsb ee el en eo es et fa fi fil fo fr ga gl gu ha haw he hi hr hsb hu hy id ig is it ' +
    'ja ka kk kl km kn ko kok ku ky lb ln lo lt lv mk ml mn mr ms mt my nb ne nn om or pa pl ps pt ro ru se si sk sl smn sq sr sv sw ta te th ' +
    'tk to tr ug uk ur uz vi wae wo xh yi yo zh zu und'
  ).split(' '),
);

export const isCollation = (text: string): boolean => LANGUAGES.has(text.toLowerCase());
