package cloud

import (
	"github.com/millwright-dev/millwright/provider"
)

// named returns the choice with the name, or the first if the name is empty; the zero value if it does not exist.
func named(choices []provider.Choice, name string) (one provider.Choice) {
	for _, o := range choices {
		if name == "" || o.Name == name {
			return o
		}
	}
	return one
}

// chosen returns the choice for an instance, if it has capacity.
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
