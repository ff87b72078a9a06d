/* configuration.c - prints docs/CONFIGURATION.md from the options that the library knows, or those
 * of topics with what tools/configuration.py needs of them: name, type, default, range, operand,
 * place.
 *
 * usage: configuration [topic] */
#include <stdio.h>

#include <slotmq/options.h>

static const char intro[] =
    "# Options\n"
    "\n"
    "<!-- Made from the table in libsrc/model: tools/configuration.py --write build -->\n"
    "\n"
    "Each option is a field of a struct in C, and has the same name as text: in "
    "`smq_option_parse()`, in\n"
    "`slotmq -X KEY=VALUE` for options of the client, and in `slotmq topic alter NAME "
    "KEY=VALUE...` "
    "for\n"
    "those of a topic. A flag of the command has the name of its option with `-` instead of `_`, "
    "without\n"
    "`_ms` and `_per_s`: `--max-retries`, `--lease`.\n"
    "\n"
    "Integers are decimal. A duration is `500ms`, `30s`, `5m`, `2h`, `1d` or a bare number of\n"
    "milliseconds.\n";

static const struct {
    smq_option_set set;
    const char *title, *type;
} sets[] = {
    {SMQ_OPTION_SET_CLIENT, "Client", "smq_client_options"},
    {SMQ_OPTION_SET_TOPIC, "Topic", "smq_topic_options"},
    {SMQ_OPTION_SET_PRODUCER, "Producer", "smq_producer_options"},
    {SMQ_OPTION_SET_CONSUMER, "Consumer", "smq_consumer_options"},
};

/* A cell of a table: a bar would end it. */
static void print_cell(const char *text)
{
    printf("| ");
    for (; *text != '\0'; text++) {
        printf(*text == '|' ? "\\%c" : "%c", *text);
    }
    printf(" ");
}

static bool print_option(const smq_option_info *option, void *user)
{
    const smq_option_set *set = user;

    if (option->set == *set) {
        printf("| `%s` ", option->name);
        print_cell(option->type);
        print_cell(option->default_value);
        print_cell(option->range);
        print_cell(option->text);
        if (option->since != NULL) {
            printf("Since %s. ", option->since);
        }
        printf("|\n");
    }
    return true;
}

static bool print_topic_option(const smq_option_info *option, void *user)
{
    (void) user;
    if (option->set == SMQ_OPTION_SET_TOPIC) {
        printf("%s\t%s\t%s\t%s\t%s\t%d\n", option->name, option->type, option->default_value,
               option->range, option->operand != NULL ? option->operand : "", option->place);
    }
    return true;
}

static void print_page(void)
{
    fputs(intro, stdout);
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        smq_option_set set = sets[i].set;
        printf("\n## %s: `%s`\n\n", sets[i].title, sets[i].type);
        printf("| option | type | default | range | what it does |\n|---|---|---|---|---|\n");
        smq_option_each(print_option, &set);
    }
}

int main(int argc, char **argv)
{
    (void) argv;
    if (argc > 1) {
        smq_option_each(print_topic_option, NULL);
    } else {
        print_page();
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
