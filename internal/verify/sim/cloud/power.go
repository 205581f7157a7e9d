package cloud

import (
	"context"

	"github.com/millwright-dev/millwright/provider"
)

// Power is the way in which the infrastructure reboots instances.
type Power string

// The ways. The zero value: it reboots none.
const (
	// EachTime: a repeated call is another reboot.
	EachTime Power = "each time"
	// Once: it recognizes the last request of each instance.
	Once Power = "once"
)

// As returns the optional interfaces that this cloud has.
func (s session) As(target any) bool {
	switch t := target.(type) {
	case *provider.Powerer:
		*t = powerer{s}
		return s.Cloud.Power != ""
	case *provider.Initializer:
		*t = initializer{s}
		return s.Cloud.Makes == SwitchedOff
	}
	return false
}

type powerer struct{ session }

// Power implements [provider.Powerer].
func (s powerer) Power(_ context.Context, ref provider.Ref, i provider.Instance, op provider.PowerOp, request string) error {
	if op != provider.Reboot {
		return provider.Errorf(provider.Invalid, "cannot %s", op)
	}
	if s.Cloud.Power == EachTime {
		request = ""
	}
	return s.reboot(ref, i, request)
}

func (s session) reboot(ref provider.Ref, i provider.Instance, request string) error {
	return s.call(Call{Verb: "reboot", Ref: ref, Given: []string{i.ID}}, func() error {
		for _, m := range s.Cloud.find(placeOf(s.class), ref) {
			if m.ID != i.ID || !m.Runs(s.Cloud.Now()) || request != "" && m.request == request {
				continue
			}
			m.request = request
			s.Cloud.OnReboot(m)
		}
		return nil
	})
}
