package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/millwright-dev/millwright/provider"
)

// kindOf returns the kind of a failure: the recorded one, otherwise a guess from its text.
func kindOf(err error) provider.Kind {
	if k := provider.KindOf(err); refusals[k] != "" {
		return k
	}
	return guess(err)
}

// telling has words by which clouds name a failure whose kind the API did not store. They only decide which
// step is proposed. The words of denials come first: AWS's InvalidClientTokenId is one.
var telling = []struct {
	kind  provider.Kind
	words []string
}{
	{provider.Denied, []string{
		"authfailure", "unauthorized", "forbidden", "accessdenied", "access denied", "not authorized", "credential", "permission", "invalidclienttokenid", "signaturedoesnotmatch", "denied",
	}},
	{provider.Exhausted, []string{"quota", "insufficient", "capacity", "limit exceeded", "limitexceeded", "no room", "exhausted", "not enough"}},
}

// guess returns the kind that the text of a failure suggests, or empty.
func guess(err error) provider.Kind {
	if err == nil {
		return ""
	}
	text := strings.ToLower(err.Error())
	for _, t := range telling {
		if slices.ContainsFunc(t.words, func(w string) bool { return strings.Contains(text, w) }) {
			return t.kind
		}
	}
	return ""
}

// instanceGone reports whether a machine failed because its instance does not exist any more. Clients match
// on these words, so controllers do not change them.
func instanceGone(err error) bool {
	return err != nil && strings.HasPrefix(strings.ToLower(err.Error()), "can't find created instance")
}

// inputs quotes the inputs that the text of the failure names: fields of the provider spec, and secrets.
func inputs(q *input) (out []Cause) {
	if q.Failure.Err == nil {
		return nil
	}
	text := q.Failure.Err.Error()
	if strings.Contains(text, "no secret with the key") && len(q.Made.Secrets) > 0 {
		out = append(out, Cause{Source: q.Made.Class, Message: "the secrets that it names are " + strings.Join(q.Made.Secrets, " and ")})
	}
	for _, f := range q.Made.Fields {
		if names(text, f.Name) || f.Name == zoned && names(text, "subnet") {
			out = append(out, Cause{Source: f.Path, Message: "it is " + f.Value})
		}
	}
	return out
}

// zoned is the field with the zone, which also selects subnets, besides their own field.
const zoned = "placement"

// names reports whether a path in the text contains the field: "spec.providerSpec.value.subnet: no subnet
// passes the filters" contains subnet.
func names(text, field string) bool {
	for rest := text; ; {
		before, after, found := strings.Cut(rest, field)
		if !found {
			return false
		}
		begins := before == "" || strings.ContainsAny(before[len(before)-1:], ". ")
		if begins && after != "" && strings.ContainsAny(after[:1], ".:[") {
			return true
		}
		rest = after
	}
}

// squatted explains a machine whose node cannot join, because another node has its name.
func squatted(q *input) finding {
	n := q.Obstacles.Squatter
	return finding{
		key: reasonSquatter, fill: []string{"squatter", n.Name},
		chain: []Cause{{
			Source: "node " + n.Name, Reason: reasonSquatter, Since: n.CreationTimestamp.Time,
			Message: fmt.Sprintf("it does not belong to the machine, and no kubelet gets a certificate for the name of an existing node%s", showing(n.Spec.ProviderID)),
		}},
	}
}

func showing(providerID string) string {
	if providerID == "" {
		return ""
	}
	return "; it shows the provider ID " + providerID
}

// tokenless returns the cause that the machine's bootstrap token does not exist.
func tokenless(q *input) []Cause {
	if q.Obstacles.NoToken == "" {
		return nil
	}
	return []Cause{{
		Source: "secret " + q.Obstacles.NoToken, Reason: "TokenGone",
		Message: "the machine's bootstrap token does not exist: if the boot data contain this token, the kubelet cannot join, and you must delete the machine",
	}}
}
