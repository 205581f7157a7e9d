package cloud

import (
	"github.com/millwright-dev/millwright/provider"
)

// named is the choice of the name, the first if it is empty; the zero value: there is none.
func named(choices []provider.Choice, name string) (one provider.Choice) {
	for _, o := range choices {
		if name == "" || o.Name == name {
			return o
		}
	}
	return one
}

// chosen is what to make an instance of, if there is room for it.
func chosen(c *Cloud, name string) (provider.Choice, error) {
	one := named(c.Choices, name)
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
