package gce

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// matcher reports whether a resource passes a list's filter.
type matcher func(resource) bool

// parseFilter parses a filter of a list: terms such as name="a", labels.b:* or (status != "RUNNING"), with
// AND, OR and parentheses; adjacent terms must all match. The former syntax, "name eq regexp", allows one
// term only.
func parseFilter(text string) (matcher, *failure) {
	if strings.TrimSpace(text) == "" {
		return func(resource) bool { return true }, nil
	}
	if field, pattern, ok := strings.Cut(strings.TrimSpace(text), " eq "); ok {
		expression, err := regexp.Compile("^(?:" + strings.Trim(pattern, `'" `) + ")$")
		if err != nil {
			return nil, invalid("filter", "'%s'. Invalid list filter expression.", text)
		}
		return func(r resource) bool { return expression.MatchString(fieldText(r, field)) }, nil
	}
	p := &filterParser{tokens: filterTokens(text)}
	m := p.either()
	if p.broken || len(p.tokens) > 0 {
		return nil, invalid("filter", "'%s'. Invalid list filter expression.", text)
	}
	return m, nil
}

// filterTokens splits a filter into words, quoted texts (which keep their first quote), operators and parentheses.
func filterTokens(text string) (tokens []string) {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case unicode.IsSpace(rune(c)):
			i++
		case c == '"':
			end := strings.IndexByte(text[i+1:], '"')
			if end < 0 {
				return append(tokens, text[i:])
			}
			tokens, i = append(tokens, text[i:i+1+end]), i+end+2
		case strings.HasPrefix(text[i:], "!="):
			tokens, i = append(tokens, "!="), i+2
		case strings.ContainsRune("()=:", rune(c)):
			tokens, i = append(tokens, text[i:i+1]), i+1
		default:
			end := i + 1
			for end < len(text) && !unicode.IsSpace(rune(text[end])) && !strings.ContainsRune(`()=:!"`, rune(text[end])) {
				end++
			}
			tokens, i = append(tokens, text[i:end]), end
		}
	}
	return tokens
}

type filterParser struct {
	tokens []string
	broken bool
}

func (p *filterParser) next() string {
	if len(p.tokens) == 0 {
		p.broken = true
		return ""
	}
	t := p.tokens[0]
	p.tokens = p.tokens[1:]
	return t
}

func (p *filterParser) is(token string) bool { return len(p.tokens) > 0 && p.tokens[0] == token }

// either parses terms that OR joins. In AIP-160, OR has a higher precedence than AND.
func (p *filterParser) either() matcher {
	all := []matcher{p.any()}
	for len(p.tokens) > 0 && !p.is(")") && !p.broken {
		if p.is("AND") {
			p.next()
		}
		all = append(all, p.any())
	}
	return func(r resource) bool {
		for _, m := range all {
			if !m(r) {
				return false
			}
		}
		return true
	}
}

func (p *filterParser) any() matcher {
	all := []matcher{p.term()}
	for p.is("OR") && !p.broken {
		p.next()
		all = append(all, p.term())
	}
	return func(r resource) bool {
		for _, m := range all {
			if m(r) {
				return true
			}
		}
		return false
	}
}

func (p *filterParser) term() matcher {
	if p.is("(") {
		p.next()
		m := p.either()
		p.broken = p.broken || p.next() != ")"
		return m
	}
	field, operator, value := p.next(), p.next(), strings.TrimPrefix(p.next(), `"`)
	switch operator {
	case "=":
		return func(r resource) bool { return fieldText(r, field) == value }
	case "!=":
		return func(r resource) bool { return fieldText(r, field) != value }
	case ":":
		// A part of a link does not match.
		return func(r resource) bool {
			return value == "*" && fieldText(r, field) != "" || fieldText(r, field) == value
		}
	}
	p.broken = true
	return nil
}

// fieldText is the text of a field, by a path such as "labels.a" or "scheduling.preemptible".
func fieldText(r resource, path string) string {
	name, rest, nested := strings.Cut(path, ".")
	if nested {
		if words, ok := r[name].(map[string]string); ok {
			return words[rest]
		}
		return fieldText(r.part(name), rest)
	}
	switch v := r[name].(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	default:
		return fmt.Sprint(v)
	}
}
