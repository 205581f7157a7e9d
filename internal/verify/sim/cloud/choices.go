package cloud

import (
	"slices"

	"github.com/millwright-dev/millwright/provider"
)

// chooser is a session whose specs name choices.
type chooser struct{ session }

var _ provider.Chooser = chooser{}

// Choices implements [provider.Chooser].
func (s chooser) Choices(provider.Ref) []provider.Choice { return slices.Clone(s.Cloud.Choices) }

// named is the choice of the name, the first if it is empty; the zero value: there is none.
func (s chooser) named(name string) (one provider.Choice) {
	for _, o := range s.Cloud.Choices {
		if name == "" || o.Name == name {
			return o
		}
	}
	return one
}

// chosen is what to make an instance of, if there is room for it.
func chosen(c *Cloud, name string) (provider.Choice, error) {
	one := chooser{session{Provider: Provider{Cloud: c}}}.named(name)
	if name != "" && one.Name == "" {
		return one, provider.Errorf(provider.Invalid, "there is no choice %q", name)
	}
	if c.Full == nil || one.Name == "" {
		return one, nil
	}
	if why := c.Full(one); why != nil {
		return one, why
	}
	return one, nil
}
