#ifndef FEDLANE_TESTS_COMPUTE_LOGIT_OPS_H
#define FEDLANE_TESTS_COMPUTE_LOGIT_OPS_H

void ck_exponentials_are_exact_enough(void);
void ck_non_finite_logits_show(void);
void ck_ties_go_to_the_first(void);

#endif
